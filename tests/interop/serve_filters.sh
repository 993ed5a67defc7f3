#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Named filters of tamis serve (BF.*): redis-cli and redis-py, several clients, kills under load with an oracle, a full
# disk, and a stop under load.
# ctest: timeout=300
set -u
if [ -z "${inside-}" ] && inside=1 unshare -m true 2>/dev/null; then
    inside=1 exec unshare -m bash "$0"
fi
# shellcheck source=tests/support/random.bash
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"

fail() {
    echo "serve_filters: $*"
    exit 1
}
trap '[ -z "$server" ] || kill -KILL "$server" 2>/dev/null; umount "$work/disk" 2>/dev/null; rm -rf "$work"' EXIT

# shellcheck source=tests/support/serve.bash
. "$TAMIS_SOURCE_DIR/tests/support/serve.bash"

# start DIRECTORY LINE...: serves the filters in a directory, with these lines in the configuration; sets $server and $port.
start() {
    printf '%s\n' "listen: 127.0.0.1:0" "filters: {directory: $1}" "${@:2}" >"$work/serve.yaml"
    serve_start
}
run() { "$python" -B "$here/filters.py" "$@"; }

# ---- clients -----------------------------------------------------------------------------------------------

start filters "metrics: 127.0.0.1:0"
metrics=$(sed -n 's|.*\(http://[^ ]*/metrics\).*|\1|p' "$work/log")
same "$(redis-cli -p "$port" BF.ADD users anna)" 1 "BF.ADD"
same "$(redis-cli -p "$port" BF.ADD users anna)" 0 "BF.ADD again"
same "$(redis-cli -3 -p "$port" BF.MADD users anna otto | xargs)" "(false) (true)" "BF.MADD with RESP3"
same "$(redis-cli -p "$port" BF.RESERVE few 0.01 2 NONSCALING)" OK "BF.RESERVE"
same "$(redis-cli -p "$port" BF.MADD few a b c d | xargs)" "1 1 ERR non scaling filter is full" "a full filter"
same "$(redis-cli -p "$port" COMMAND DOCS bf.madd | head -n 1)" bf.madd "COMMAND DOCS"
for protocol in 2 3; do
    run clients "$port" $protocol || fail "redis-py with RESP$protocol"
done
same "$(redis-cli -p "$port" INFO filters | sed -n 's/^filters:\([0-9]*\).*/\1/p')" 10 "number of filters"
"$python" -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())' \
    "$metrics" >"$work/metrics" || fail "no metrics"
grep -qx 'tamis_filters 10' "$work/metrics" || fail "metrics: $(grep tamis_filter "$work/metrics")"
commits=$(redis-cli -p "$port" INFO filters | sed -n 's/^filter_commits:\([0-9]*\).*/\1/p')
same "$(sed -n 's/^tamis_filter_commit_seconds_count //p' "$work/metrics")" "$commits" "commits in the metrics"
serve_stop
start filters
same "$(redis-cli -p "$port" BF.MEXISTS users anna otto emil | xargs)" "1 1 0" "after a start"
same "$(redis-cli -p "$port" BF.MADD few b c | xargs)" "0 ERR non scaling filter is full" "a full filter after a start"
same "$(redis-cli -p "$port" BF.CARD "race 2")" 3000 "BF.CARD after a start"
serve_stop

# ---- kills under load --------------------------------------------------------------------------------------

for i in $(seq "$(scaled 5 5 50)"); do
    start killed
    run kill "$port" "$server" "$work/oracle" || fail "kill $i"
    wait "$server" 2>/dev/null
    server=
done
start killed
run verify "$port" "$work/oracle" || fail "after the last kill"
# The oracle notices a loss: of a key that the filter does not have.
{ cat "$work/oracle"; echo 123456789; } >"$work/wrong"
! run verify "$port" "$work/wrong" >/dev/null 2>&1 || fail "a lost key is not noticed"
serve_stop

# ---- a stop under load -------------------------------------------------------------------------------------

start drained
answered=$(run drain "$port" "$server") || fail "stop under load"
wait "$server" || fail "status $? at the end: $(cat "$work/log")"
start drained
same "$(redis-cli -p "$port" BF.CARD "seen/by all")" "$answered" "keys after a stop, and answers before it"
serve_stop

# ---- a full disk -------------------------------------------------------------------------------------------

mkdir "$work/disk"
if [ -n "${inside-}" ] && mount -t tmpfs -o size=600k none "$work/disk" 2>/dev/null; then
    start disk/filters
    run full "$port" "$work/full" || fail "full disk: $(cat "$work/log")"
    mount -o remount,size=64M "$work/disk"
    sleep 1.1
    run verify "$port" "$work/full" || fail "more space: $(cat "$work/log")"
    same "$(redis-cli -p "$port" BF.ADD "seen/by all" "a new key")" 1 "an add with more space"
    kill -KILL "$server"
    wait "$server" 2>/dev/null
    start disk/filters
    run verify "$port" "$work/full" || fail "a start after a full disk"
    serve_stop
    umount "$work/disk"
else
    echo "not run: a full disk, for want of a mount namespace"
fi
echo "serve_filters: ok"
