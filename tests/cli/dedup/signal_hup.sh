# SPDX-License-Identifier: BSD-2-Clause
# SIGHUP: what was read is written, the summary is printed, status 129.
# Job control: without it bash starts background jobs with SIGINT ignored.
set -m
mkfifo in out
tamis dedup --stats < in > out &
exec 3> in 4< out
printf 'a\nb\na\n' >&3
read -r one <&4
read -r two <&4
kill -HUP $!
wait $!
echo "$one $two, status $?"
