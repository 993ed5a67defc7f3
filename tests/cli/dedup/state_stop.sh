# SPDX-License-Identifier: BSD-2-Clause
# A stop by SIGTERM or SIGINT commits first. After SIGKILL the state is at its last commit.
printf 'a\nb\na\n' > begin
for signal in TERM INT KILL; do
    mkfifo pipe
    # Background commands of a shell ignore SIGINT; env restores it.
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
