#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `tamis kafka dedup` on a real broker: records come while the command is killed again and again, and while two and
# four members join and leave. A reader of committed records finds each record once, and each key once in the output. Then
# a member is killed at steps of a merge. Last what must be refused. ctest: peers
# ctest: torture
# ctest: timeout=900
set -euo pipefail
export PATH=$TAMIS_BUILD_DIR/bin:$PATH
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
. "$TAMIS_SOURCE_DIR/tests/support/kafka.bash"
. "$TAMIS_SOURCE_DIR/tests/support/kafka_dedup.bash"

step "starting a broker"
start_broker

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

# ---- two and four members that come and go ------------------------------------------------------------------------

more=$(scaled 10000 40000 1000000)
rounds=$(scaled 2 3 60)
records "$first" "$more" > "$work/more"
cat "$work/more" >> "$work/all"
step "$more records, two and four members"
slowly $((rounds * 20)) 0.2 < "$work/more" | produce &
producer=$!
start a
a=$member
for ((i = 0; i < rounds; i++)); do
    start b
    b=$member others=()
    if ((i % 2)); then
        for instance in c d; do
            start $instance
            others+=("$member")
        done
    fi
    sleep "2.$((RANDOM % 10))"
    if ((RANDOM % 2)); then # in order, or not
        kill -TERM "$b"
        wait "$b" && fail "SIGTERM: status 0" || [ $? = 143 ] || fail "SIGTERM: not status 143"
    else
        killed "$b"
    fi
    for member in "${others[@]}"; do # in order: partitions would wait for the end of a transaction left open
        kill -TERM "$member"
        wait "$member" || [ $? = 143 ] || fail "SIGTERM: not status 143"
    done
    sleep "1.$((RANDOM % 10))"
    killed "$a"
    start a
    a=$member
done
wait $producer
sleep 0.5
kill -TERM "$a"
wait "$a" || [ $? = 143 ] || fail "SIGTERM: not status 143"
# An open transaction holds back the readers of the output, and a session that is not over keeps its partitions.
for instance in b c d a; do
    drain $instance
done
check_outputs "two and four members"
check_chain
step "$(wc -l < "$work/chain") transactions are committed"

# ---- a partition is restored while others go on ------------------------------------------------------------

# more COUNT: produces that many more records
produced=$((first + more))
more() {
    records $produced "$1" > "$work/more"
    produced=$((produced + $1))
    cat "$work/more" >> "$work/all"
    produce < "$work/more"
}
# await WHAT COMMAND...: until the command succeeds
await() {
    local what=$1 i
    shift
    for ((i = 0; i < 600; i++)); do
        ! "$@" || return 0
        sleep 0.1
    done
    fail "never: $what"
}
has_said() { grep -qE "$2" "$work/err.$1"; } # INSTANCE PATTERN
count_in() { # TOPIC PARTITION [ISOLATION]
    kcat -b "$kafka_brokers" -C -t "$1" -p "$2" -o beginning -e -q -X "isolation.level=${3-read_committed}" | wc -l
}
has_more() { [ "$(count_in "${@:2}")" -gt "$1" ]; } # COUNT TOPIC PARTITION [ISOLATION]
# hold SECONDS: opens a transaction in the state of partition 0; sets $holder
hold() {
    local partition=(once.in.tamis-state 0 read_uncommitted) count
    count=$(count_in "${partition[@]}")
    "$TAMIS_INTEROP_DIR/kafka_ops" "$kafka_brokers" hold once.in.tamis-state "$1" &
    holder=$!
    await "an open transaction in the state" has_more "$count" "${partition[@]}"
}
has_forwarded() { # PARTITION...
    local number
    for number in "$@"; do
        [ "$(count_in in "$number")" = $(($(count_in out "$number") + $(count_in again "$number"))) ] || return 1
    done
}
joined='in: 2 of 4 partitions are assigned to this process; [0-9]+ keys were restored$'

# Member a has partitions 0 and 1. It dies with a transaction whose offsets are sent: nobody can fetch them.
step "partitions whose offset is not decided, or whose state is not, beside others"
: > "$work/err.a"
: > "$work/err.b"
start b
b=$member
await "b has all partitions" has_said b '4 of 4 partitions'
: > "$work/err.b"
KAFKA_FAULT=offsets:after:1 LD_PRELOAD=$TAMIS_INTEROP_DIR/kafka_preload.so start a
a=$member
await "b has two partitions" has_said b "$joined"
await "a has two partitions" has_said a "$joined"
more 1000
wait $a && fail "a did not die" || [ $? = 137 ] || fail "a: another status"
await "b goes on with its own partitions" has_said b 'in: [12] of 4 assigned partitions go on; the others are restored meanwhile$'
more 1000
await "records of these partitions" has_forwarded 2 3
! has_said b '4 of 4 partitions' || fail "b did not wait for the offsets"
# Member a ends its transaction. Another one is in the state of partition 0.
hold 50
: > "$work/err.a"
: > "$work/err.b"
start a
a=$member
await "a goes on with a partition" has_said a 'in: 1 of 2 assigned partitions go on; the others are restored meanwhile$'
more 1000
await "records of the others" has_forwarded 1 2 3
! has_said a "$joined" || fail "a did not wait for the state"
! has_forwarded 0 || fail "a has not read the state"
kill -TERM $holder
wait $holder
await "a has both partitions" has_said a "$joined"
await "all records" has_forwarded 0 1 2 3
kill -TERM "$a" "$b"
wait "$a" || [ $? = 143 ] || fail "a: not status 143"
wait "$b" || [ $? = 143 ] || fail "b: not status 143"
check_outputs "partitions that are restored beside others"
check_chain

# ---- standby -----------------------------------------------------------------------------------------------

step "a standby takes over"
: > "$work/err.a"
: > "$work/err.b"
start a
a=$member
await "a has all partitions" has_said a '4 of 4 partitions'
dedup b --standby --metrics "$work/metrics" 2>> "$work/err.b" &
b=$!
await "b keeps partitions warm" has_said b 'in: 2 of 4 partitions are kept warm by this process$'
await "the metrics" grep -qx 'tamis_kafka_standby_partitions 2' "$work/metrics"
more 5000
await "all records" has_forwarded 0 1 2 3
killed "$a"
await "b has all partitions" has_said b '4 of 4 partitions'
more 1000
await "all records" has_forwarded 0 1 2 3
restored=$(sed -n 's/.*4 of 4 partitions are assigned to this process; \([0-9]*\) keys were restored$/\1/p' "$work/err.b" | tail -n 1)
step "$restored of $(wc -l < "$work/keys") keys were left to restore"
((restored < 100)) || fail "$restored keys are restored by the standby"
kill -TERM "$b"
wait "$b" || [ $? = 143 ] || fail "b: not status 143"
drain a
check_outputs "a standby"
check_chain

# ---- status ------------------------------------------------------------------------------------------------

# status GROUP TOPIC OPTION...
status() { tamis kafka status --brokers "$kafka_brokers" --group "$1" --from "$2" "${@:3}"; }
# field NAME FILE: the values of a field of --json, one a line
field() { grep -oE "\"$1\": [^,}]*" "$2" | sed 's/.*: //; s/"//g'; }

# check_size GROUP TOPIC: the sizes of the state are those of the values, and 75 bytes at each offset
check_size() {
    status "$1" "$2" --json > "$work/status" || fail "the status"
    kcat -b "$kafka_brokers" -C -t "$1.$2.tamis-state" -o beginning -e -q -X isolation.level=read_committed -f '%p %S\n' \
        > "$work/sizes"
    paste -d ' ' <(field state_bytes "$work/status") <(field state_low "$work/status") <(field state_end "$work/status") |
        awk 'FNR == NR { bytes[$1] += $2; next } $1 != bytes[FNR - 1] + 75 * ($3 - $2) { exit 1 }' "$work/sizes" - ||
        fail "the size of the state: $(cat "$work/status")"
}

step "the status"
start a
for ((i = 0; i < 100; i++)); do # until it has them all
    status once in --json > "$work/status" || fail "the status"
    [ "$(field owner "$work/status" | sort -u)" != a ] || break
    sleep 0.1
done
[ "$(field owner "$work/status" | sort -u)" = a ] || fail "the owner: $(cat "$work/status")"
[ "$(field lag "$work/status" | sort -u)" = 0 ] || fail "the lag: $(cat "$work/status")"
[ "$(field offset "$work/status" | tr '\n' ' ')" = "$(awk '{ to[$1] = $4 } END { for (i = 0; i < 4; i++) printf "%d ", to[i] }' "$work/chain")" ] ||
    fail "the offsets: $(cat "$work/status")"
[ "$(field state_to "$work/status")" = "$(field offset "$work/status")" ] || fail "the end of the state: $(cat "$work/status")"
awk '!($1 in first) { first[$1] = $2 } END { for (i = 0; i < 4; i++) print first[i] }' "$work/chain" |
    paste - <(field state_low "$work/status") | awk '$2 > $1 { exit 1 }' || fail "the state: $(cat "$work/status")"
[ "$(field newest "$work/status" | sort -u)" = null ] || fail "without a window: $(cat "$work/status")"
check_size once in
records $produced 3000 > "$work/more"
produced=$((produced + 3000))
cat "$work/more" >> "$work/all"
slowly 50 0.1 < "$work/more" | produce &
producer=$!
has_rate() { field rate "$work/status" | awk '{ rate += $1 } END { exit !(rate > 0 && rate < 3000) }'; }
for _ in {1..10}; do # the first records may come late
    status once in --json > "$work/status" || fail "the status"
    ! has_rate || break
done
has_rate || fail "the rate: $(cat "$work/status")"
wait $producer
kill -TERM $member
wait $member || [ $? = 143 ] || fail "the member"
drain a
more 100
status once in > "$work/status" || fail "the status"
grep -qx 'lag 100 records, 0 records a second' "$work/status" || fail "the lag: $(cat "$work/status")"
drain a
check_outputs "the status"
check_chain
status_refused() { # PATTERN GROUP TOPIC OPTION...
    ! status "${@:2}" 2> "$work/err.status" || fail "not refused: $1"
    grep -qE "^tamis: $1" "$work/err.status" || fail "another message than: $1"
}
status_refused 'other: has no offset in topic in, and no member; ' other in
status_refused 'none: .*; create the topic, or correct its name$' once none
status_refused '--setting isolation.level: ' once in -X isolation.level=read_committed
# Behind the last record of an output is a marker of its transaction, which is not lag.
kafka_ops offset after out 0 0
status after out --json > "$work/status" || fail "a marker"
kafka_ops offset after out 0 $(($(field end "$work/status" | head -n 1) - 1))
status after out --json > "$work/status" || fail "a marker"
[ "$(field lag "$work/status" | head -n 1)" = 0 ] || fail "a marker: $(cat "$work/status")"
# A group that is not of dedup has no state.
kafka_ops offset plain in 0 5
status plain in --json > "$work/status" || fail "another group"
[ "$(field offset "$work/status" | tr '\n' ' ')$(field state_end "$work/status" | sort -u)" = "5 null null null null" ] ||
    fail "another group: $(cat "$work/status")"

# ---- the plan ----------------------------------------------------------------------------------------------

step "the state is as large as planned"
count=$(scaled 200000 400000 5000000)
kafka_ops create plan 4
kafka_ops create planned 4
seq "$count" | kcat -b "$kafka_brokers" -P -t plan -X partitioner=random -X sticky.partitioning.linger.ms=0
# check_plan GROUP "PLAN" "DEDUP" OPTION...: bytes of a key in the files of the state topic, and in the plan. PLAN and DEDUP
# are options of one of them, OPTION... of both. The plan of a window has
# 2 bits of a key for its time; here all are of one step.
check_plan() {
    (tamis kafka dedup --brokers "$kafka_brokers" --group "$1" --from plan --to planned --until-end $3 "${@:4}") || fail "the run of $1"
    tamis plan --kafka --partitions 4 $2 "${@:4}" --json > "$work/plan" || fail "the plan of $1"
    local bytes
    bytes=$(cat "$kafka_dir/data/$1.plan.tamis-state-"*/*.log | wc -c)
    status "$1" plan --json > "$work/status" || fail "the status"
    field state_bytes "$work/status" | awk -v bytes="$bytes" '{ sum += $1 } END {
        printf "status: %.1f %% of the bytes in the files\n", sum / bytes * 100
        exit !(sum > bytes * 0.95 && sum < bytes * 1.05)
    }' || fail "the size of the state of $1"
    awk -v bytes="$bytes" -v keys="$count" -v planned="$(field state_bytes "$work/plan")" \
        -v planned_keys="$(field state_keys "$work/plan")" 'BEGIN {
            printf "%.2f bytes of a key, planned %.2f\n", bytes / keys, planned / planned_keys
            exit !(bytes / keys < planned / planned_keys * 1.04 && bytes / keys > planned / planned_keys * 0.94)
        }' || fail "the plan of $1"
}
check_plan once "--expect $count" ''
check_plan short "--expect $count" "--expect $((count / 4))" --fpr 1e-5 # hashes of 48 bits
check_plan exact "--expect $count --kind exact" --exact
check_plan window "--rate 100k/s" '' --window 24h

# ---- merges ------------------------------------------------------------------------------------------------

# with_fault STATUS FAULT: state records are small, so a merge of a partition makes several
with_fault() {
    local status=0
    { (KAFKA_FAULT=$2 LD_PRELOAD=$TAMIS_INTEROP_DIR/kafka_preload.so dedup a --until-end -X message.max.bytes=5000) || status=$?; } \
        2> "$work/err.fault"
    [ $status = "$1" ] || fail "$2: status $status"
}
# describe_state: for each partition, offset of the first state record, `needed` of the last one, and their number
describe_state() {
    kafka_ops chain once$suffix.in$suffix.tamis-state |
        awk '!n[$1]++ { first[$1] = $2 } { needed[$1] = $6 } END { for (i = 0; i < 4; i++) print first[i], needed[i], n[i] }'
}
step "a long chain of small state records"
suffix=-merged
create_topics
records 0 4000 > "$work/all$suffix"
produce < "$work/all$suffix"
drain a
check_outputs "before a merge"
kafka_ops lengthen once$suffix.in$suffix.tamis-state 300
check_chain
describe_state > "$work/state"
awk '$2 != 0 || $3 < 300 { exit 1 }' "$work/state" || fail "the state before a merge: $(cat "$work/state")"

# There are no input records, so each call is one of a merge. The first four readers are those of the restore.
step "a merge of them"
for fault in read:after:5 begin:after:1 produce:after:1 produce:after:2 commit:before:1; do
    with_fault 137 $fault
done
describe_state | cmp - "$work/state" || fail "a merge that was not committed has changed the state"
with_fault 137 commit:after:1 # of one partition
describe_state > "$work/state"
[ "$(awk '$1 == 0 && $2 >= 255' "$work/state" | wc -l)" = 1 ] || fail "a merge that was committed: $(cat "$work/state")"
with_fault 137 cut:before:1
describe_state > "$work/state"
[ "$(awk '$1 == 0 && $2 >= 255' "$work/state" | wc -l)" = 2 ] || fail "a merge without a cut: $(cat "$work/state")"
with_fault 137 cut:after:1
describe_state > "$work/state"
[ "$(awk '$1 > 0 && $1 >= $2' "$work/state" | wc -l)" = 3 ] || fail "merges that were cut: $(cat "$work/state")"
with_fault 0 offsets:lost:1
records 4000 100 >> "$work/all$suffix"
tail -n 100 "$work/all$suffix" | produce # the next commit of each partition has its old records cut
drain a
check_outputs "after a merge"
for _ in {1..50}; do
    describe_state > "$work/state"
    ! awk '$1 < $2 || $3 > 20 { exit 1 }' "$work/state" || break
    sleep 0.1
done
step "state: $(tr '\n' ',' < "$work/state")"
awk '$1 < $2 || $3 > 20 { exit 1 }' "$work/state" || fail "old records are not cut"
check_chain
awk '$5 > max { max = $5 } END { print "largest state record: " max " hashes"; exit !(max > 0 && max <= 512) }' "$work/chain" || fail "large records"
check_size once-merged in-merged
drain a
restored=$(awk '/^restored keys/ { gsub(",", ""); print $3 }' "$work/err.drain")
[ "$restored" = "$(wc -l < "$work/keys")" ] || fail "$restored keys are restored of $(wc -l < "$work/keys")"
suffix=''
check_outputs "beside a merge"
check_chain

# ---- refusals ------------------------------------------------------------------------------------------------

# refused PATTERN OPTION...: the command ends with status 2 and such a message.
refused() {
    local pattern=$1 status=0
    shift
    (dedup a --until-end "$@") 2> "$work/err.refused" || status=$?
    [ $status = 2 ] || fail "not refused (status $status): $pattern"
    grep -qE "$pattern" "$work/err.refused" || fail "another message than: $pattern"
}
step "an open transaction in the state"
# The state ends behind it, so a member must wait until it is decided.
hold 8
drain a
for _ in {1..30}; do # after its transaction it closes its clients
    kill -0 $holder 2> /dev/null || break
    sleep 0.1
done
! kill -0 $holder 2> /dev/null || fail "did not wait for it"
wait $holder

step "refusals"
key=line
refused 'was made with key=kafka:key, not key=line; '
key=kafka:key
refused 'was made with hash-bits=64, not hash-bits=48; ' --fpr 1e-6 --expect 1000
refused 'message.max.bytes: 1000 is too small for state records; give [0-9]+ or more$' --exact -X message.max.bytes=1000
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
for _ in {1..50}; do
    ! kafka_ops forget once in 0 2> "$work/err.offset" || break
    sleep 0.2
done
kafka_ops forget once in 2
second=$(awk '$1 == 2 { to = $4 } END { print to }' "$work/chain")
refused "in \\[0\\]: its offset has expired or was removed, but its state ends at $end; set the offset to $end, "
grep -q "in \\[2\\]: .* set the offset to $second, " "$work/err.refused" || fail "only one partition is named"
set_offset "$end"
kafka_ops offset once in 2 "$second"
drain a
grep -qE '^records +0$' "$work/err.drain" || fail "records were read again"
suffix=-merged
kafka_ops delete once-merged.in-merged.tamis-state
refused 'in-merged \[3\]: has offset [0-9]+, but the state topic once-merged.in-merged.tamis-state has no records of it; begin again '
suffix=''
kafka_ops config once.in.tamis-state retention.ms 100000000
refused 'retention.ms is 100000000, so Kafka would remove keys; set it to -1$'
kafka_ops config once.in.tamis-state retention.ms -1 max.message.bytes 500000
refused 'max.message.bytes is 500000, too small for batches of 1000000 bytes; set it to 1000000 or more, or '
drain a -X message.max.bytes=500000
kafka_ops config once.in.tamis-state retention.ms -1
# A partition that comes while a member runs, and one that is there when it starts.
(dedup a -X topic.metadata.refresh.interval.ms=500) 2> "$work/err.grown" &
member=$!
await "the member runs" grep -qs '4 of 4 partitions are assigned' "$work/err.grown"
kafka_ops grow in 5
status=0
wait $member || status=$?
[ $status = 2 ] || fail "a new partition: status $status"
grep -q '^tamis: in: has a new partition 4, so keys may be in other partitions now; ' "$work/err.grown" || fail "another message"
refused 'in: has 5 partitions, but its state has 4 '
check_outputs "refusals"
# A partition that was empty at the first start has an offset too.
kafka_ops create fresh 1
copy_until_end() { (tamis kafka dedup --brokers "$kafka_brokers" --group fresh --from fresh --to planned --until-end); }
copy_until_end || fail "an empty topic"
seq 5 | kcat -b "$kafka_brokers" -P -t fresh
kafka_ops cut fresh 0 3
! copy_until_end 2> "$work/err.refused" || fail "not refused: records that were never read"
grep -q '^tamis: fresh \[0\]: 3 records were removed before they were read, from offset 0 on; ' "$work/err.refused" || fail "another message"
step "all good"
