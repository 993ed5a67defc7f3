# SPDX-License-Identifier: BSD-2-Clause
# A stop commits first, by SIGTERM as by SIGINT; what SIGKILL ends is at its last commit.
printf 'a\nb\na\n' > begin
for signal in TERM INT KILL; do
    mkfifo pipe
    # A shell has its background commands ignore SIGINT; env gives it back.
    (env --default-signal=INT tamis dedup --state "$signal" --commit-every 1h begin pipe -o "out$signal" 2> err & echo $! > pid)
    exec 3> pipe
    printf 'c\nc\nd\n' >&3
    until grep -qs d "out$signal" 2> /dev/null; do sleep 0.02; done
    kill -s "$signal" "$(cat pid)"
    while kill -0 "$(cat pid)" 2> /dev/null; do sleep 0.02; done
    exec 3>&-
    rm pipe
    printf '%s: ' "$signal"
    tamis state show "$signal" | grep keys
done
