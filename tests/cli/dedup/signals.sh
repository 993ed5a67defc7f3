# SPDX-License-Identifier: BSD-2-Clause
# SIGHUP, SIGINT, SIGTERM: what was read is written, the summary is printed, status 128 and the signal's
# number. Job control: without it bash starts background jobs with SIGINT ignored.
set -m
mkfifo in out
for signal in HUP INT TERM; do
    tamis dedup --stats < in > out 2> err &
    exec 3> in 4< out
    printf 'a\nb\na\n' >&3
    read -r one <&4
    read -r two <&4
    kill -$signal $!
    wait $!
    echo "$signal: $one $two, status $?"
    grep -vE '^(seconds|rate|filter memory|kind|estimated false drops) ' err
    exec 3>&- 4<&-
done
