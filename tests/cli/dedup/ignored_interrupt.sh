# SPDX-License-Identifier: BSD-2-Clause
# A signal that the caller ignores stays ignored: nohup, background jobs.
trap '' INT HUP
mkfifo in
tamis dedup < in &
exec 3> in
echo a >&3
sleep 0.3
kill -INT $!
kill -HUP $!
sleep 0.1
echo b >&3
exec 3>&-
wait $!
echo "status $?"
