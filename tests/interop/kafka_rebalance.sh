#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Rebalances of `tamis kafka dedup` while records come all the time. A member goes on at once with the partitions that it
# keeps: it reads no state of them, and the time without records in their output is measured. Then members that the group
# expels or refuses. ctest: peers
# ctest: torture
# ctest: timeout=900
set -euo pipefail
export PATH=$TAMIS_BUILD_DIR/bin:$PATH
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
. "$TAMIS_SOURCE_DIR/tests/support/kafka.bash"
. "$TAMIS_SOURCE_DIR/tests/support/kafka_dedup.bash"

step "starting a broker"
start_broker
for topic in out again; do # so that records have the time at which the broker got them
    kafka_ops config $topic message.timestamp.type LogAppendTime
done

: > "$work/all"
feed() {
    local first lines
    for ((first = 0; ; first += 20000)); do
        records $first 20000 > "$work/input"
        while mapfile -n 40 lines && [ ${#lines[@]} -gt 0 ]; do
            [ -e "$work/flows" ] || return 0
            printf %s "${lines[@]}"
            sleep 0.05
        done < "$work/input"
    done | tee -a "$work/all"
}
: > "$work/flows"
producer < <(feed) &
producer=$!
await() { # INSTANCE PATTERN
    local i
    for ((i = 0; i < 600; i++)); do
        ! grep -qE "$2" "$work/err.$1" || return 0
        sleep 0.1
    done
    fail "$1 never says: $2"
}
stop() { # PID
    kill -TERM "$1"
    wait "$1" || [ $? = 143 ] || fail "SIGTERM: not status 143"
}

# Member a would die if it read the state. It has made it, and must read it only when the partitions of b come back.
step "a member keeps two partitions"
: > "$work/err.a"
KAFKA_FAULT=read:before:1 LD_PRELOAD=$TAMIS_INTEROP_DIR/kafka_preload.so start a
a=$member
await a '4 of 4 partitions'
sleep 1
start b
b=$member
await a 'in: 2 of 4 partitions are assigned to this process; 0 keys were restored$'
sleep 1
kill -0 "$a" || fail "a has read the state of partitions that it kept"
stop "$b"
wait "$a" && fail "a has not read the state of the other partitions" || [ $? = 137 ] || fail "a: another status"

step "two and four members come and go"
: > "$work/err.a"
start a
a=$member
await a '4 of 4 partitions'
sleep 1
begun=$(date +%s%3N)
for ((round = 0; round < $(scaled 2 3 20); round++)); do
    start b
    others=("$member")
    if ((round % 2)); then
        for instance in c d; do
            start $instance
            others+=("$member")
        done
    fi
    sleep "2.$((RANDOM % 10))"
    for member in "${others[@]}"; do
        if ((RANDOM % 2)); then
            killed "$member"
        else
            stop "$member"
        fi
    done
    sleep "3.$((RANDOM % 10))" # their sessions are over
done
ended=$(date +%s%3N)
rm "$work/flows"
wait $producer || fail "the records are not produced"
stop "$a"
for instance in b c d a; do # each ends the transaction that it has left open
    drain $instance
done
check_outputs "rebalances"
check_chain
# The longest time without a record. Partition 0 stays with a, the others do not with four members. Three members that go
# cause up to three rebalances in a row.
for topic in out again; do
    kcat -b "$kafka_brokers" -C -t $topic -o beginning -e -q -f '%p %T\n' -X isolation.level=read_committed
done | sort -n -k 1,1 -k 2,2 | awk -v begun="$begun" -v ended="$ended" '
    $1 != partition || NR == 1 { partition = $1; last = 0 }
    $2 >= begun && $2 <= ended {
        if (last && $2 - last > longest[partition]) longest[partition] = $2 - last
        last = $2
    }
    END { print longest[0] + 0, longest[1] + 0, longest[2] + 0, longest[3] + 0 }' > "$work/pauses"
read -r -a pauses < "$work/pauses"
step "the longest pauses: ${pauses[0]} ms of a partition that stays, ${pauses[1]}, ${pauses[2]} and ${pauses[3]} ms of others"
((pauses[0] > 0 && pauses[0] < 10000)) || fail "a partition that stays has a pause of ${pauses[0]} ms"

# The group may expel a member before it has got its partitions. Then it joins again.
step "a member without an id"
records 0 100 > "$work/input"
kafka_ops create lone 4
kcat -b "$kafka_brokers" -P -t lone -K "$tab" < "$work/input"
lone() { timeout "$1" tamis kafka dedup --brokers "$kafka_brokers" --group lone --from lone --to out --until-end --stats; }
! (KAFKA_FAULT=member:lost:0 LD_PRELOAD=$TAMIS_INTEROP_DIR/kafka_preload.so lone 5) 2> "$work/err.lone" || fail "it goes on without an id"
! grep -q 'are assigned to this process' "$work/err.lone" || fail "it begins without an id"
(KAFKA_FAULT=member:lost:1 LD_PRELOAD=$TAMIS_INTEROP_DIR/kafka_preload.so lone 60) 2> "$work/err.lone" || fail "it does not join again"
grep -qE '^records +100$' "$work/err.lone" || fail "it has not read all records: $(cat "$work/err.lone")"

# The group expels a member that sleeps while it has no partitions, which librdkafka does not report. Another one moves the
# offsets, and ends. Then somebody sets them back to those of the sleeper, whose filter lacks the keys of the other one.
step "a member sleeps between two assignments"
suffix=-asleep
create_topics
offsets() { # COUNT: waits until so many records are committed; writes a line for each partition
    for ((i = 0; i < 100; i++)); do
        tamis kafka status --brokers "$kafka_brokers" --group once$suffix --from in$suffix 2> "$work/err.status" |
            awk '$1 ~ /^[0-9]+$/ { print $1, $2 }' > "$work/offsets" || true
        [ "$(awk '{ sum += $2 } END { print sum + 0 }' "$work/offsets")" -lt "$1" ] || return 0
        sleep 0.1
    done
    fail "$1 records are not read"
}
records 0 200 | produce
: > "$work/err.a"
: > "$work/err.b"
KAFKA_FAULT=assign:pause:3 LD_PRELOAD=$TAMIS_INTEROP_DIR/kafka_preload.so start a # in front of the end of N
a=$member
await a '4 of 4 partitions'
offsets 200
cp "$work/offsets" "$work/offsets.a"
start b
b=$member
await b '4 of 4 partitions'
records 200 200 | produce
offsets 400
stop "$b"
while read -r partition offset; do
    for ((i = 0; i < 50; i++)); do # until the session of b is over
        ! kafka_ops offset once$suffix in$suffix "$partition" "$offset" 2> "$work/err.offset" || break
        sleep 0.2
    done
done < "$work/offsets.a"
kill -CONT "$a"
await a 'its offset was moved to '
wait "$a" && fail "a goes on" || [ $? = 2 ] || fail "a: another status"
suffix=''

step "a member with another strategy"
kcat -b "$kafka_brokers" -G mixed in -q -X partition.assignment.strategy=roundrobin -X enable.auto.commit=false \
    > "$work/kcat" 2>> "$work/err.kcat" &
other=$!
for ((i = 0; i < 100; i++)); do
    tamis kafka status --brokers "$kafka_brokers" --group mixed --from in 2> "$work/err.status" | grep -q rdkafka && break
    sleep 0.1
done
status=0
timeout 30 tamis kafka dedup --brokers "$kafka_brokers" --group mixed --from in --to out --until-end 2> "$work/err.mixed" || status=$?
[ $status = 2 ] || fail "another strategy: status $status: $(cat "$work/err.mixed")"
grep -qE '^tamis: mixed: .*; the group has a member with another partition.assignment.strategy or group.protocol; end it, ' \
    "$work/err.mixed" || fail "another strategy: $(cat "$work/err.mixed")"
kill -KILL $other
step "all good"
