#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `tamis kafka count` on a real broker and real Redis servers: records come while members are killed again and again, and one
# sleeps until another has its partitions. All counts are those of an undisturbed run. The same in a cluster. Then a Redis that
# loses its last writes, one that is replaced by its replica, and what must be refused. Counters are numbers, sums and HyperLogLogs. ctest: peers
# ctest: torture
# ctest: timeout=900
set -euo pipefail
export PATH=$TAMIS_BUILD_DIR/bin:$PATH
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
. "$TAMIS_SOURCE_DIR/tests/support/kafka.bash"
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
RANDOM=$((seed % 32768))
tab=$'\t'

fail() {
    echo "failed: $*"
    tail -n 3 "$work"/err* 2> /dev/null || true
    exit 1
}
step() { echo "$SECONDS s: $*"; }

# count INSTANCE OPTION...: becomes a member.
group=counts
templates=(--count 'clicks:{hour}:{json:/page}' --count 'users:{kafka:key}' --count total --sum 'sum:{hour}={json:/n}'
    --distinct 'distinct:{hour}={json:/n}')
count() {
    local instance=$1
    shift
    exec tamis kafka count --brokers "$kafka_brokers" --group "$group" --from in --to "$uri" "${templates[@]}" --time json:/ts \
        --commit-every 100ms --instance "$instance" -X session.timeout.ms=2000 -X heartbeat.interval.ms=500 "$@"
}
start() { # INSTANCE: sets $member
    count "$1" 2>> "$work/err.$1" &
    member=$!
}
killed() {
    kill -KILL "$1" 2> /dev/null || fail "a member has ended by itself"
    wait "$1" 2> /dev/null || true
}
stopped() {
    local status=0
    kill -TERM "$1"
    wait "$1" || status=$?
    [ $status = 143 ] || fail "SIGTERM: status $status"
}
# A member that was stopped keeps its partitions until its session is over, so each one that was there drains its own.
drain() { # INSTANCE OPTION...
    (count "$@" --until-end --stats) 2> "$work/err.drain" || fail "the rest is not counted"
}

produce() { kcat -b "$kafka_brokers" -P -t in -K "$tab" -X partitioner=murmur2_random 2> "$work/err.kcat"; }
slowly() { split -n "l/$1" --filter="cat; sleep $2" -; }
# records FIRST COUNT: of 500 pages, one with signs that have a meaning in names, in 3 hours, of 100 users; each has a number
records() {
    awk -v first="$1" -v count="$2" -v seed="$seed" 'BEGIN {
        srand(seed + first)
        for (i = first; i < first + count; i++) {
            page = int(rand() * 500)
            printf "user-%d\t{\"page\":\"/p/%s\",\"ts\":%d,\"n\":%d}\n", rand() * 100, (page > 0 ? page : "a b:{c}%"), 1764108000 + 3600 * int(rand() * 3), i - 10000
        }
    }'
}
# expect_counts FILE: "name count" of each counter for these records. A HyperLogLog of the same numbers has the same count.
expect_counts() {
    local hour
    awk -F "$tab" -v hours="$work/hour" '{
        match($2, /"page":"[^"]*"/); page = substr($2, RSTART + 8, RLENGTH - 9)
        sub(/a b:{c}%/, "a%20b%3A%7Bc%7D%25", page)
        match($2, /"ts":[0-9]*/); hour = (substr($2, RSTART + 5, RLENGTH - 5) - 1764108000) / 3600
        n["clicks:2025-11-25T" (22 + hour == 24 ? "xx" : 22 + hour) ":" page]++
        n["users:" $1]++; n["total"]++
        match($2, /"n":[-0-9]*/); number = substr($2, RSTART + 4, RLENGTH - 4)
        n["sum:2025-11-25T" (22 + hour == 24 ? "xx" : 22 + hour)] += number
        print number > hours (hour == 2 ? "00" : 22 + hour)
    } END { for (name in n) print name, n[name] }' "$1" | sed 's/2025-11-25Txx/2025-11-26T00/' > "$work/lines"
    for hour in 25T22 25T23 26T00; do
        xargs redis-cli -p "$reference" pfadd "reference:$hour" < "$work/hour${hour#*T}" > "$work/out"
        echo "distinct:2025-11-$hour $(redis-cli -p "$reference" pfcount "reference:$hour")"
        redis-cli -p "$reference" del "reference:$hour" > "$work/out"
    done >> "$work/lines"
    sort "$work/lines"
}
# read_counts PORT...: the same, of servers
read_counts() {
    local port
    for port; do
        redis-cli -p "$port" --scan | grep -v tamis-count > "$work/names" || true
        sed 's/^distinct/PFCOUNT &/; t; s/^/GET /' "$work/names" | redis-cli -p "$port" | paste -d ' ' "$work/names" -
    done | sort
}
compare() { # WHAT FILE PORT...: are the counts those of the records in FILE?
    expect_counts "$2" > "$work/expected"
    read_counts "${@:3}" > "$work/counts"
    cmp -s "$work/expected" "$work/counts" && return
    diff "$work/expected" "$work/counts" > "$work/diff" || head -n 5 "$work/diff"
    fail "$1: $(grep -c . "$work/counts") counters"
}

step "starting a broker and a Redis"
kafka_start
kafka_ops create in 4
redis_start
reference=$redis_port
redis_start --appendonly yes --appendfsync always
uri=$redis_uri

# ---- one member, killed again and again ---------------------------------------------------------------------

first=$(scaled 20000 100000 1000000)
kills=$(scaled 3 5 200)
records 0 "$first" > "$work/all"
step "$first records, $kills kills"
slowly $((kills * 8)) 0.1 < "$work/all" | produce &
producer=$!
for ((i = 0; i < kills; i++)); do
    start a
    sleep "0.$((4 + RANDOM % 6))"
    killed $member
done
wait $producer
drain a
compare "one member" "$work/all" "$redis_port"
tamis kafka status --brokers "$kafka_brokers" --group "$group" --from in > "$work/status" || fail "the status"
grep -qx 'lag 0 records, 0 records a second' "$work/status" || fail "the status: $(cat "$work/status")" # the offsets follow
# The comparison finds a record that is counted once too often, and values that are not in a HyperLogLog.
redis_command incr total > "$work/out"
! (compare planted "$work/all" "$redis_port") > "$work/out" || fail "a wrong count is not found"
redis_command decr total > "$work/out"
redis_command copy distinct:2025-11-26T00 kept > "$work/out"
redis_command del distinct:2025-11-26T00 > "$work/out"
head -n -100 "$work/hour00" | xargs redis-cli -p "$redis_port" pfadd distinct:2025-11-26T00 > "$work/out"
! (compare planted "$work/all" "$redis_port") > "$work/out" || fail "lost values are not found"
redis_command rename kept distinct:2025-11-26T00 > "$work/out"
compare "before what follows" "$work/all" "$redis_port"

# ---- servers that are away ------------------------------------------------------------------------------------

await_remark() { # PATTERN: of member a
    for _ in {1..200}; do
        ! grep -qE "$1" "$work/err.a" || return 0
        sleep 0.1
    done
    fail "no remark: $1"
}
step "Redis does not answer for some seconds"
: > "$work/err.a"
start a
await_remark ' partitions are assigned to this process$'
kill -STOP "$redis_pid"
records 5 1000 > "$work/more"
cat "$work/more" >> "$work/all"
produce < "$work/more"
await_remark '^tamis: counts: waits for Redis: redis .*: did not answer in time; '
kill -CONT "$redis_pid"
await_remark '^tamis: counts: Redis answers again$'
if [ "${TAMIS_TEST_SCALE-full}" = torture ]; then
    kafka_stop
    await_remark "^tamis: $kafka_brokers: waits for the brokers: .*refused"
    kafka_again || fail "the broker does not start again"
    await_remark "^tamis: $kafka_brokers: the brokers answer again"
fi
stopped $member
drain a
compare "servers that were away" "$work/all" "$redis_port"

# ---- a zombie -------------------------------------------------------------------------------------------------

# It stops in front of a script, and sends it when the other one has counted the same records.
rounds=$(scaled 1 1 40)
step "a member sleeps, and another one takes its partitions"
for ((round = 0; round < rounds; round++)); do
    records $((first + round)) 15000 > "$work/more"
    cat "$work/more" >> "$work/all"
    : > "$work/err.a"
    export KAFKA_FAULT=script:pause:$((2 + RANDOM % 3))
    LD_PRELOAD=$TAMIS_INTEROP_DIR/kafka_preload.so start a
    unset KAFKA_FAULT
    a=$member
    await_remark ' partitions are assigned to this process$'
    slowly 20 0.1 < "$work/more" | produce # several scripts
    for _ in {1..100}; do
        ! grep -q '^State:.T' "/proc/$a/status" || break
        sleep 0.1
    done
    grep -q '^State:.T' "/proc/$a/status" || fail "the member does not sleep"
    start b
    b=$member
    sleep 3
    kill -CONT "$a"
    sleep 1.5
    stopped "$a"
    stopped "$b"
done
drain b
drain a
compare "a member that slept" "$work/all" "$redis_port"

# ---- Redis loses its last writes --------------------------------------------------------------------------------

step "Redis goes back to an earlier moment"
redis_command save > "$work/out"
cp "$redis_dir/dump.rdb" "$work/dump.rdb" 2> "$work/err.copy" || fail "no dump"
records 777 3000 > "$work/more"
cat "$work/more" >> "$work/all"
produce < "$work/more"
drain b
drain a
compare "before the loss" "$work/all" "$redis_port"
cp "$work/dump.rdb" "$work/lost.rdb"
redis_start --dir "$work" --dbfilename lost.rdb
uri=$redis_uri
drain b
cp "$work/err.drain" "$work/err.b"
drain a
cat "$work/err.b" >> "$work/err.drain"
grep -q ' but Redis has counts up to [0-9]* only; they are counted from there$' "$work/err.drain" || fail "no remark"
compare "after the loss" "$work/all" "$redis_port"

# ---- refusals ---------------------------------------------------------------------------------------------------

refused() { # PATTERN OPTION...
    local pattern=$1 status=0
    shift
    (count a --until-end "$@") 2> "$work/err.refused" || status=$?
    [ $status = 2 ] || fail "not refused (status $status): $pattern"
    grep -qE "$pattern" "$work/err.refused" || fail "another message than: $pattern"
}
set_offset() { # PARTITION OFFSET: when the session of the last member is over
    for _ in {1..50}; do
        kafka_ops offset "$group" in "$1" "$2" 2> "$work/err.offset" && return
        sleep 0.2
    done
    fail "cannot set the offset"
}
step "refusals"
refused 'were made with from=in.*count=clicks.* give the same options, or use another group and other names' --count 'days:{day}'
set_offset 0 5
drain a
compare "an offset that was set" "$work/all" "$redis_port"
group=forged
redis_command hset 'forged.in.tamis-count:{0}' 0 1000000000 > "$work/out"
refused 'in \[0\]: Redis has counts up to offset 1000000000, but group forged has no offset; if it has expired, set it to 1000000000, '
set_offset 0 5
refused 'in \[0\]: ends at [0-9]+, but Redis has counts up to 1000000000: it was made again; '
redis_command del 'forged.in.tamis-count:{0}' > "$work/out"
redis_command set not-a-number x > "$work/out"
group=other
refused 'not-a-number: expected a counter in .* remove or rename this key' --count not-a-number
refused 'not-a-number: expected a counter in .*not a HyperLogLog' --distinct 'not-a-number={kafka:key}'
redis_command del not-a-number > "$work/out"
refused 'in \[[0-3]\]: offset 0: sum '"'pages=.json:.page.'"': adds no integer .* or give --on-error skip' --sum 'pages={json:/page}'
compare "scripts that were refused" "$work/all" "$redis_port"
group=counts
uri_before=$uri
redis_start
uri=$redis_uri
refused 'group counts has counted up to offset [0-9]+, but this Redis has no position: it was emptied, or is another one; '
uri=$uri_before

# ---- aborted records, and a partition that is added -------------------------------------------------------------

step "an aborted transaction, and a new partition"
kafka_ops hold in 1
kafka_ops grow in 5
records 4242 1000 > "$work/more"
cat "$work/more" >> "$work/all"
produce < "$work/more"
drain a --metrics "$work/metrics" --expire 50000d
compare "a new partition" "$work/all" "${uri##*:}"
# Metrics are those of --stats, and counters with a time expire.
for figure in records counted batches; do
    value=$(awk -v name=$figure '$1 == name && NF == 2 { gsub(",", ""); print $2 }' "$work/err.drain")
    [ "$value" -gt 0 ] && grep -qx "tamis_kafka_${figure}_total $value" "$work/metrics" || fail "metrics: $figure is not $value"
done
grep -qx 'tamis_kafka_lag_records 0' "$work/metrics" || fail "metrics: lag"
grep -q '^tamis_last_commit_timestamp_seconds 1' "$work/metrics" && ! grep -q '^tamis_records_total' "$work/metrics" || fail "metrics"
for name in sum distinct; do
    [ "$(redis-cli -p "${uri##*:}" pttl $name:2025-11-26T00)" -gt 0 ] || fail "$name does not expire"
done
[ "$(redis-cli -p "${uri##*:}" pttl total)" = -1 ] || fail "total expires"

# ---- replicas -----------------------------------------------------------------------------------------------------

# A master has its replica's answer before offsets are committed. Then it counts without a replica, and fails.
step "a replica, and a failover to it"
group=replicated
redis_start --repl-diskless-sync-delay 0
master=$redis_pid uri="$redis_uri?replicas=1&patience=20s"
redis_start --replicaof 127.0.0.1 "$redis_port"
for _ in {1..100}; do
    ! redis_command info replication | grep -q '^master_link_status:up' || break
    sleep 0.1
done
drain a
compare "a replica" "$work/all" "$redis_port"
uri=${uri/20s/1s}
: > "$work/err.a"
start a
await_remark ' partitions are assigned to this process$'
redis_command replicaof no one > "$work/out"
records 99 500 > "$work/more"
cat "$work/more" >> "$work/all"
produce < "$work/more"
status=0
wait $member || status=$?
[ $status = 2 ] || fail "no replica: status $status"
grep -q 'redis .*: replicated.in.tamis-count: only 0 of 1 replicas confirmed the writes in time' "$work/err.a" || fail "no replica: another message"
refused 'redis .*: has 0 of the 1 replicas that must confirm each batch; '
redis_kill "$master"
uri=$redis_uri
drain a
! grep 'but Redis has counts' "$work/err.drain" || fail "an offset is in front of the replica"
compare "a failover" "$work/all" "$redis_port"

# ---- a cluster ----------------------------------------------------------------------------------------------------

step "a cluster"
ports=()
for _ in 1 2 3; do
    redis_start --cluster-enabled yes --cluster-config-file nodes.conf
    ports+=("$redis_port")
done
redis-cli --cluster create "${ports[@]/#/127.0.0.1:}" --cluster-yes > "$work/err.cluster" 2>&1 || fail "no cluster"
for _ in {1..100}; do
    ! redis_command cluster info | grep -q 'cluster_state:ok' || break
    sleep 0.1
done
uri=redis+cluster://127.0.0.1:${ports[0]},127.0.0.1:${ports[1]}
group=clustered
for ((i = 0; i < $(scaled 2 2 100); i++)); do
    start a
    sleep "1.$((RANDOM % 5))"
    killed $member
done
drain a
compare "a cluster" "$work/all" "${ports[@]}"

# ---- a fault at chosen steps --------------------------------------------------------------------------------------

# Users are in some hundred slots. A run sends their position keys one by one, then a script to each slot, then that of the
# home slot, and commits the offset.
step "faults in a cluster"
group=faults
templates=(--count 'faults:{kafka:key}')
with_fault() { # FAULT: a run with it, which is killed, ends, or goes on
    local status=0
    records $RANDOM 300 > "$work/more"
    cat "$work/more" >> "$work/all"
    produce < "$work/more"
    { (KAFKA_FAULT=$1 LD_PRELOAD=$TAMIS_INTEROP_DIR/kafka_preload.so count c --until-end --stats) || status=$?; } 2>> "$work/err.fault"
    [ $status = 0 ] || [ $status = 137 ] || fail "$1: status $status"
    [ $status != 137 ] || killed_runs=$((killed_runs + 1))
}
killed_runs=0
for fault in offset:before:1 offset:lost:1 redis:before:2 script:before:1 script:after:1 script:lost:1 script:before:2 script:after:2 \
    script:lost:2 script:after:3 script:before:4 script:after:4 script:lost:4; do
    with_fault $fault
done
drain c
awk -F "$tab" '{ n["faults:" $1]++ } END { for (name in n) print name, n[name] }' "$work/all" | sort > "$work/expected"
read_counts "${ports[@]}" | grep '^faults:' > "$work/counts"
cmp "$work/expected" "$work/counts" || fail "faults in a cluster"
repeated=$(awk '/^counted before/ { gsub(",", ""); n += $3 } END { print n + 0 }' "$work/err.fault" "$work/err.drain")
step "$killed_runs runs were killed, $repeated records were counted before"
[ "$killed_runs" -ge 7 ] && [ "$repeated" -gt 0 ] || fail "the faults have no effect"
step "all good"
