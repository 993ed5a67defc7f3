# SPDX-License-Identifier: BSD-2-Clause
# A signal: the old file stays, no temporary file is left, and the exit status is the signal's.
set -m # so that an interrupt is not ignored
mkfifo in
echo old > f.tamis
for signal in INT TERM HUP; do
    tamis build -o f.tamis in &
    exec 3> in
    echo a >&3
    sleep 0.3
    kill -$signal $!
    wait $!
    echo "status $?"
    exec 3>&-
done
cat f.tamis
ls -A
