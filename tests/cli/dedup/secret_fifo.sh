# SPDX-License-Identifier: BSD-2-Clause
# A FIFO as secret is waited for, in open and in read, until a signal ends that. Job control: without it
# bash starts background jobs with SIGINT ignored.
set -m
mkfifo key
for signal in INT TERM; do
    echo a | tamis dedup --secret-file key &
    sleep 0.3
    kill -$signal $!
    wait $!
    echo "status $?"
    echo a | tamis dedup --secret-file key &
    exec 3> key
    sleep 0.3
    kill -$signal $!
    wait $!
    echo "status $?"
    exec 3>&-
done
echo a | tamis dedup --secret-file key &
echo 0123456789abcdef > key
wait $!
tamis dedup --secret-file -
