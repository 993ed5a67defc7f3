# SPDX-License-Identifier: BSD-2-Clause
# A signal: the filter is as it was, and that is said.
set -m # so that an interrupt is not ignored
echo a > in
tamis build -o f.tamis --expect 100 in
cp f.tamis before
mkfifo pipe answers
for signal in INT TERM; do
    tamis add f.tamis --print fresh pipe > answers &
    exec 4< answers 3> pipe
    echo b >&3
    read -r -t 20 line <&4 && echo "$line"
    kill -$signal $!
    wait $!
    echo "status $?"
    exec 3>&- 4<&-
done
cmp f.tamis before
ls -A
