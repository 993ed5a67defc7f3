#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `tamis kafka dedup` on a real broker: records come while the command is killed again and again, and while two members
# join and leave. A reader of committed records finds each record once, and each key once in the output. Then what must be
# refused. ctest: peers
set -euo pipefail
export PATH=$TAMIS_BUILD_DIR/bin:$PATH
if [ ! -x "${TAMIS_INTEROP_DIR-}/kafka_ops" ]; then
    echo "needs a build with librdkafka"
    exit 77
fi
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
. "$TAMIS_SOURCE_DIR/tests/support/kafka.bash"
RANDOM=$((seed % 32768))
tab=$'\t'

fail() {
    echo "kafka_dedup: $*"
    tail -n 3 "$work"/err* 2> /dev/null || true
    exit 1
}
step() { echo "$SECONDS s: $*"; }

# dedup INSTANCE OPTION...: becomes a member.
key=kafka:key
dedup() {
    local instance=$1
    shift
    exec tamis kafka dedup --brokers "$kafka_brokers" --group once --from in --to out --duplicates-to again \
        --key "$key" --commit-every 100ms --instance "$instance" -X session.timeout.ms=2000 \
        -X heartbeat.interval.ms=500 "$@"
}
# start INSTANCE: sets $member
start() {
    dedup "$1" 2>> "$work/err.$1" &
    member=$!
}
# killed PID: kill -9, and waits until it is gone
killed() {
    kill -KILL "$1" 2> /dev/null || fail "a member has ended by itself"
    wait "$1" 2> /dev/null || true
}
# drain INSTANCE: reads the rest, and ends the transaction that this member has left open
drain() {
    (dedup "$1" --until-end --stats) 2> "$work/err.drain" || fail "the rest is not read"
}

produce() { kcat -b "$kafka_brokers" -P -t in -K "$tab" -X partitioner=murmur2_random 2> "$work/err.kcat"; }
# read_topic TOPIC: committed records, as "key<tab>value"
read_topic() { kcat -b "$kafka_brokers" -C -t "$1" -o beginning -e -q -K "$tab" -X isolation.level=read_committed; }

# records FIRST COUNT: about 30 % of them have the key of an earlier one; every value is another one.
records() {
    awk -v first="$1" -v count="$2" -v seed="$seed" 'BEGIN {
        srand(seed + first)
        for (i = first; i < first + count; i++) {
            key = i > 0 && rand() < 0.3 ? int(rand() * i) : i
            printf "key-%d\tvalue-%d\n", key, i
        }
    }'
}
# slowly PARTS SECONDS: passes its input on in parts
slowly() {
    split -n "l/$1" --filter="cat; sleep $2" -
}

# compare: every input record is once in both outputs, every key once in the first one. $work/all has the input.
compare() {
    sort "$work/all" > "$work/expected"
    sort "$1" "$2" | cmp -s "$work/expected" - || return 1
    cut -f 1 "$work/all" | sort -u > "$work/keys"
    cut -f 1 "$1" | sort | cmp -s "$work/keys" -
}
check_outputs() {
    read_topic out > "$work/out"
    read_topic again > "$work/again"
    compare "$work/out" "$work/again" ||
        fail "$1: input $(wc -l < "$work/all"), keys $(wc -l < "$work/keys"), output $(wc -l < "$work/out")," \
            "different keys in it $(cut -f 1 "$work/out" | sort -u | wc -l), duplicates $(wc -l < "$work/again")"
}
# check_chain: no gaps in the state, and as many hashes as keys
check_chain() {
    kafka_ops chain once.in.tamis-state > "$work/chain"
    awk -v keys="$(wc -l < "$work/keys")" '
        $1 in to && to[$1] != $3 { print "gap in the state: " $0; bad = 1 }
        { to[$1] = $4; hashes += $5 }
        END { if (hashes != keys) { print hashes " hashes of " keys " keys"; bad = 1 }; exit bad }' "$work/chain" ||
        fail "the state is wrong"
}

step "starting a broker"
kafka_start
for topic in in out again; do
    kafka_ops create $topic 4
done

# ---- one member, killed again and again ------------------------------------------------------------------

first=$(scaled 20000 60000 2000000)
kills=$(scaled 4 10 200)
records 0 "$first" > "$work/all"
step "$first records, $kills kills"
slowly $((kills * 8)) 0.15 < "$work/all" | produce &
producer=$!
for ((i = 0; i < kills; i++)); do
    start a
    sleep "$((RANDOM % 2)).$((3 + RANDOM % 7))"
    killed $member
done
wait $producer
drain a
check_outputs "one member"
check_chain
aborted=$(($(kcat -b "$kafka_brokers" -C -t out -o beginning -e -q -X isolation.level=read_uncommitted | wc -l) - $(wc -l < "$work/out")))
step "$(wc -l < "$work/chain") transactions are committed; $aborted records of aborted ones are in the output"

# The comparison finds a record that is lost, and a key that came twice.
sed 1d "$work/out" > "$work/planted"
! compare "$work/planted" "$work/again" || fail "a lost record is not found"
{ cat "$work/out"; head -n 1 "$work/again"; } > "$work/planted"
sed 1d "$work/again" > "$work/planted.again"
! compare "$work/planted" "$work/planted.again" || fail "a repeated key is not found"

# ---- two members that come and go ------------------------------------------------------------------------

more=$(scaled 10000 40000 1000000)
rounds=$(scaled 2 3 60)
records "$first" "$more" > "$work/more"
cat "$work/more" >> "$work/all"
step "$more records, two members"
slowly $((rounds * 20)) 0.2 < "$work/more" | produce &
producer=$!
start a
a=$member
for ((i = 0; i < rounds; i++)); do
    start b
    b=$member
    sleep "2.$((RANDOM % 10))"
    if ((RANDOM % 2)); then # in order, or not
        kill -TERM "$b"
        wait "$b" && fail "SIGTERM: status 0" || [ $? = 143 ] || fail "SIGTERM: not status 143"
    else
        killed "$b"
    fi
    sleep "1.$((RANDOM % 10))"
    killed "$a"
    start a
    a=$member
done
wait $producer
kill -TERM "$a"
wait "$a" || [ $? = 143 ] || fail "SIGTERM: not status 143"
# Its open transaction holds back the readers of the output.
drain b
drain a
check_outputs "two members"
check_chain
step "$(wc -l < "$work/chain") transactions are committed"

# ---- refusals ------------------------------------------------------------------------------------------------

# refused PATTERN OPTION...: the command ends with status 2 and such a message.
refused() {
    local pattern=$1 status=0
    shift
    (dedup a --until-end "$@") 2> "$work/err.refused" || status=$?
    [ $status = 2 ] || fail "not refused (status $status): $pattern"
    grep -qE "$pattern" "$work/err.refused" || fail "another message than: $pattern"
}
step "refusals"
key=line
refused 'was made with key=kafka:key, not key=line; '
key=kafka:key
end=$(awk '$1 == 0 { to = $4 } END { print to }' "$work/chain")
set_offset() { # when the session of the last member is over
    for _ in {1..50}; do
        kafka_ops offset once in 0 "$1" 2> "$work/err.offset" && return
        sleep 0.2
    done
    fail "cannot set the offset"
}
set_offset 5
refused "its offset was moved to 5, but its state ends at $end; set the offset to $end, "
set_offset "$end"
drain a
grep -qE '^records +0$' "$work/err.drain" || fail "records were read again"
kafka_ops config once.in.tamis-state retention.ms 100000000
refused 'retention.ms is 100000000, so Kafka would remove keys; set it to -1$'
kafka_ops config once.in.tamis-state retention.ms -1
kafka_ops grow in 5
refused 'in: has 5 partitions, but its state has 4 '
check_outputs "refusals"
step "all good"
