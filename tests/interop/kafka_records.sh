#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What `tamis kafka dedup` keeps of a record, where keys come from, and what happens to records without one, on a real
# broker. Then what members say that have the same name, wait for a transaction, or lose a topic. ctest: peers ctest: long
# ctest: timeout=900
set -euo pipefail
export PATH=$TAMIS_BUILD_DIR/bin:$PATH
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
. "$TAMIS_SOURCE_DIR/tests/support/kafka.bash"

fail() {
    echo "failed: $*"
    exit 1
}
produce() { kcat -b "$kafka_brokers" -P "$@" 2> "$work/err.kcat"; }
# show TOPIC: partition, time, key and value with their sizes (-1: NULL), headers
show() { kcat -b "$kafka_brokers" -C -t "$1" -o beginning -e -q -f '%p %T %K[%k] %S[%s] %h\n' | sort; }
# dedup GROUP FROM TO OPTION...
dedup() {
    tamis kafka dedup --brokers "$kafka_brokers" --group "$1" --from "$2" --to "$3" --until-end "${@:4}"
}
# await_line FILE PATTERN: until the file has such a line
await_line() {
    local i
    for ((i = 0; i < 600; i++)); do
        ! grep -qsE "$2" "$1" || return 0
        sleep 0.1
    done
    fail "never: $2"
}
# expect FILE TEXT: that the file has
expect() { diff - "$1" <<< "$2" || fail "not as expected: ${3-$1}"; }

kafka_start
for topic in in out again other; do
    kafka_ops create $topic 3
done
kafka_ops create wide 7

# ---- a record is copied as it is ---------------------------------------------------------------------------

printf 'k1:v1\nk2:v2\n' | produce -t in -K : -p 0 -H a=1 -H b= -H a=2
printf ':v3\n:\n' | produce -t in -K : -p 1 -Z       # keys and values NULL
printf ':v4\nk5:\n' | produce -t in -K : -p 2        # empty ones
printf 'k6:\n' | produce -t in -K : -p 2 -Z          # a tombstone
head -c 900000 /dev/zero | tr '\0' x | produce -t in -p 1 -D '\0'
show in > "$work/in"
[ "$(wc -l < "$work/in")" = 8 ] || fail "input: $(cat "$work/in")"
dedup whole in out --duplicates-to again
show out > "$work/out"
cmp "$work/in" "$work/out" || fail "records are not equal"
[ "$(show again | wc -l)" = 0 ] || fail "duplicates"
# Planted: a NULL value that became empty is seen.
! sed 's/ -1\[\]/ 0[]/' "$work/out" | cmp -s "$work/in" - || fail "NULL and empty look equal"

# Another number of partitions: the key selects one, as in the producer of the input.
printf 'k%d:x\n' {1..40} | produce -t other -K : -X partitioner=murmur2_random
printf 'k%d:x\n' {1..40} | produce -t wide -K : -X partitioner=murmur2_random
show wide | awk '{ print $1, $3 }' > "$work/expected"
kafka_ops create wide2 7
dedup wide other wide2 --key kafka:key
show wide2 | awk '{ print $1, $3 }' | cmp "$work/expected" - || fail "other partitions"

# A record that is too large for the producer ends the run, with its offset.
! dedup large in wide2 -X message.max.bytes=800000 2> "$work/err" || fail "a large record"
grep -qE '^tamis: in \[1\]: offset 2: wide2: .*too large; raise message.max.bytes' "$work/err" || fail "$(cat "$work/err")"

# ---- keys ------------------------------------------------------------------------------------------------

kafka_ops create json 1
kafka_ops create json-out 1
printf '%s\n' '{"id":1,"n":1}' '{"id":1,"n":2}' '{"n":3}' '{"id":2}' | produce -t json
dedup json json json-out --key json:/id --duplicates-to again --stats 2> "$work/stats"
kcat -b "$kafka_brokers" -C -t json-out -o beginning -e -q > "$work/values"
expect "$work/values" '{"id":1,"n":1}
{"n":3}
{"id":2}'
grep -vE "seconds|^tamis:" "$work/stats" | tr -s ' ' > "$work/numbers"
expect "$work/numbers" 'records 4
unique 2
duplicates 1
missing 1
malformed 0
late 0
transactions 1
aborted 0
restored keys 0'

# Live figures: those of the end are in the file.
kafka_ops create json-metrics 1
dedup metrics json json-metrics --key json:/id --metrics "$work/metrics"
grep -v '^#' "$work/metrics" | grep -vE 'memory|unknown|redelivered|timestamp' > "$work/numbers"
expect "$work/numbers" 'tamis_records_total{result="unique"} 2
tamis_records_total{result="duplicate"} 1
tamis_records_total{result="missing"} 1
tamis_records_total{result="malformed"} 0
tamis_records_total{result="late"} 0
tamis_kafka_partitions 1
tamis_kafka_standby_partitions 0
tamis_kafka_lag_records 0
tamis_kafka_transactions_total 1
tamis_kafka_aborted_total 0
tamis_kafka_assignments_total 1
tamis_kafka_restored_keys_total 0
tamis_filter_keys 2'
# Markers of transactions behind the last record are not lag.
kafka_ops create json-again 1
dedup lag json-metrics json-again --metrics "$work/metrics"
grep -qx 'tamis_kafka_lag_records 0' "$work/metrics" || fail "lag: $(grep lag "$work/metrics")"
# The log of librdkafka, if it is wanted.
dedup metrics json json-metrics --key json:/id -X debug=eos 2> "$work/err"
grep -q '^tamis: TXNSTATE: ' "$work/err" || fail "no log: $(head "$work/err")"

kafka_ops create json-drop 1
dedup json-drop json json-drop --key json:/id --missing drop --stats 2> "$work/stats"
[ "$(show json-drop | wc -l)" = 2 ] || fail "--missing drop"
kafka_ops create json-fail 1
! dedup json-fail json json-fail --key json:/id --missing fail 2> "$work/err" || fail "--missing fail"
grep -qF 'json [0]: offset 2: the record has no key; ' "$work/err" || fail "$(cat "$work/err")"
[ "$(show json-fail | wc -l)" = 1 ] || fail "the record before is not committed"

# A malformed record ends the run behind the records before it, and every time again.
printf '%s\n' '{"id":3}' '{"id":' '{"id":4}' | produce -t json
for _ in 1 2; do
    ! dedup json json json-out --key json:/id 2> "$work/err" || fail "malformed"
    grep -qE '^tamis: json \[0\]: offset 5, byte 7: .*; correct the sender, or give --dead-letters-to, or --on-error skip or pass$' "$work/err" ||
        fail "$(cat "$work/err")"
done
# Unless there is a topic for such records.
kafka_ops create json-dead 1
kafka_ops create json-dead-out 1
dedup json-dead json json-dead-out --key json:/id --missing fail --dead-letters-to json-dead --stats 2> "$work/stats"
grep -qE '^malformed +1$' "$work/stats" && grep -qE '^missing +1$' "$work/stats" || fail "dead letters: $(cat "$work/stats")"
kcat -b "$kafka_brokers" -C -t json-dead -o beginning -e -q -f '%s|%h\n' > "$work/dead"
expect "$work/dead" '{"n":3}|tamis.error=json [0]: offset 2: the record has no key
{"id":|tamis.error=json [0]: offset 5, byte 7: '"$(sed -n 's/.*byte 7: \(.*\);.*/\1/p' "$work/err")"
dedup json json json-out --key json:/id --on-error skip
[ "$(show json-out | wc -l)" = 5 ] || fail "--on-error skip"

kafka_ops create headers 1
kafka_ops create headers-out 1
for value in a b a; do
    echo "$value" | produce -t headers -H id=x -H id=$value
done
echo none | produce -t headers
dedup headers headers headers-out --key kafka:header:id
kcat -b "$kafka_brokers" -C -t headers-out -o beginning -e -q > "$work/values"
expect "$work/values" 'a
b
none'

# A window by Kafka's own time of the records.
kafka_ops create window 1
kafka_ops create window-out 1
printf 'a\na\n' | produce -t window
sleep 1.2
printf 'a\na\n' | produce -t window
dedup window window window-out --window 1s --step 50ms
[ "$(show window-out | wc -l)" = 2 ] || fail "a window by Kafka's time: $(show window-out)"

# Equal keys in two partitions are noticed.
kafka_ops create split 2
kafka_ops create split-out 2
has_said() { # PATTERN: soon
    for _ in {1..300}; do
        ! grep -q "^tamis: split: $1" "$work/err" || return 0
        sleep 0.1
    done
    fail "equal keys: $(cat "$work/err")"
}
printf '%s\n' {1..1000} | produce -t split -p 0
dedup split split split-out
tamis kafka dedup --brokers "$kafka_brokers" --group split --from split --to split-out 2> "$work/err" &
member=$!
has_said '2 of 2 partitions are assigned' # keys are looked up in partitions whose state is read
printf '%s\n' {1..1000} | produce -t split -p 1
has_said 'equal keys come in partitions 0 and 1, '
kill -TERM $member
wait $member || [ $? = 143 ] || fail "equal keys: not status 143"
dedup at-once split split-out --commit-every 10s 2> "$work/err"
grep -q '^tamis: split: equal keys come in partitions ' "$work/err" || fail "equal keys at once: $(cat "$work/err")"

# repartition puts them together, killed or not, and leaves records without a key where they are.
kafka_ops create together 5
kafka_ops create together-out 5
kafka_ops create split-dead 1
printf '%s\n' '{"id":' | produce -t split -p 1
repartition=(tamis kafka repartition --brokers "$kafka_brokers" --group by-id --from split --to together --key json:/id
    --missing pass --instance r --commit-every 100ms --dead-letters-to split-dead)
repartition() { "${repartition[@]}" "$@" 2> "$work/err"; }
awk 'BEGIN { for (i = 0; i < 40000; i++) printf "{\"id\":%d,\"n\":%d}\n", i % 1000, i }' > "$work/numbered"
split -n l/2 "$work/numbered" "$work/numbered."
produce -t split -p 0 < "$work/numbered.aa"
split -n l/20 --filter='cat; sleep 0.15' "$work/numbered.ab" | produce -t split -p 1 & # so that kills come amid records
slow=$!
for pause in 0.7 0.9 1.1; do
    "${repartition[@]}" 2> "$work/err" &
    sleep $pause
    kill -KILL $! || fail "repartition has ended by itself"
    wait $! || true
done
wait $slow
repartition --until-end --stats
kcat -b "$kafka_brokers" -C -t together -o beginning -e -q -X isolation.level=read_committed -f '%p %s\n' > "$work/together"
{
    cat "$work/numbered"
    printf '%s\n' {1..1000} {1..1000}
} | sort | diff - <(cut -d ' ' -f 2- "$work/together" | sort) > /dev/null || fail "repartition: not each record once"
# Each id in the partition in which a producer would put a record with this key.
seq 0 999 | sed 's/.*/&:/' | produce -t together-out -K : -X partitioner=murmur2_random
diff <(sed -n 's/^\([0-9]\) {"id":\([0-9]*\),.*/\2 \1/p' "$work/together" | sort -u) \
    <(kcat -b "$kafka_brokers" -C -t together-out -o beginning -e -q -f '%k %p\n' | sort -u) > /dev/null ||
    fail "repartition: other partitions than those of a producer"
[ "$(show split-dead | wc -l)" = 1 ] || fail "repartition: the malformed record is not a dead letter"
# What would put equal keys into different partitions is refused: another key, or more partitions.
! repartition --key json:/n --until-end || fail "repartition: another key"
grep -qE '^tamis: split \[0\]: was copied with another .* \(partitions=5 keys=[0-9a-f]{16}, not partitions=5 keys=' "$work/err" ||
    fail "repartition: another key: $(cat "$work/err")"
kafka_ops grow together 6
for try in {1..50}; do # until the broker says so
    repartition --until-end || break
done
grep -qE '^tamis: split \[0\]: was copied with another .* \(partitions=5 keys=([0-9a-f]{16}), not partitions=6 keys=\1\), ' "$work/err" ||
    fail "repartition: more partitions: $(cat "$work/err")"

# check divides records by a filter.
kafka_ops create clean 2
kafka_ops create listed 2
seq 0 3 500 | tamis build -q --expect 1000 --fpr 1e-6 -o "$work/list.tamis" -
for round in 1 2; do # the second one has nothing left to do
    tamis kafka check --brokers "$kafka_brokers" --group listed --from split --filter "$work/list.tamis" --key json:/id \
        --missing drop --on-error skip --to clean --present-to listed --until-end --stats 2> "$work/stats"
done
grep -qE '^records +0$' "$work/stats" || fail "check reads again: $(cat "$work/stats")"
for topic in clean listed; do
    kcat -b "$kafka_brokers" -C -t $topic -o beginning -e -q -f '%s\n' | sort > "$work/$topic"
done
awk -F '[:,]' '$2 % 3 == 0 && $2 <= 500' "$work/numbered" | sort | diff - "$work/listed" > /dev/null || fail "check: present"
awk -F '[:,]' '!($2 % 3 == 0 && $2 <= 500)' "$work/numbered" | sort | diff - "$work/clean" > /dev/null || fail "check: absent"

# So is a key that no record has.
kafka_ops create typo 1
kafka_ops create typo-out 1
printf '{"id":%d}\n' {1..100} | produce -t typo
dedup typo typo typo-out --key json:/idd 2> "$work/err"
grep -q '^tamis: typo: none of the first 100 records has a key, ' "$work/err" || fail "a key that is not there: $(cat "$work/err")"

# What other members have is not read.
members=()
for member in a b; do
    : > "$work/err.$member"
    tamis kafka dedup --brokers "$kafka_brokers" --group rest --from other --to wide2 --instance $member 2>> "$work/err.$member" &
    members+=($!)
done
for member in a b; do
    await_line "$work/err.$member" '[12] of 3 partitions are assigned'
done
kill -KILL "${members[@]}"
wait "${members[@]}" || true
dedup rest other wide2 --instance a 2> "$work/err"
grep -qE '^tamis: other: [0-9] of 3 partitions belong to other members of group rest, ' "$work/err" || fail "the rest: $(cat "$work/err")"

# ---- two members with one name -----------------------------------------------------------------------------

tamis kafka dedup --brokers "$kafka_brokers" --group twins --from other --to wide --instance a 2> "$work/err.first" &
first=$!
await_line "$work/err.first" '3 of 3 partitions are assigned'
dedup twins other wide --instance a || fail "the second of two members with one name"
status=0
wait $first || status=$?
[ $status = 2 ] || fail "the first of two members with one name: status $status"
grep -q 'another process runs with this group and instance name; give each its own$' "$work/err.first" || fail "$(cat "$work/err.first")"

# ---- an open transaction in the input ------------------------------------------------------------------------

kafka_ops create held 1
kafka_ops create held-out 1
printf '%s\n' a b | produce -t held
kafka_ops hold held 8 &
holder=$!
for _ in {1..100}; do # until its record is there
    [ "$(kcat -b "$kafka_brokers" -C -t held -o beginning -e -q -X isolation.level=read_uncommitted | wc -l)" != 3 ] || break
    sleep 0.1
done
dedup held held held-out 2> "$work/err"
wait $holder
[ "$(grep -c 'open at' "$work/err")" = 1 ] || fail "an open transaction: $(cat "$work/err")"
grep -q '^tamis: held \[0\]: waits for the transaction that is open at offset 2; it ends after the ' "$work/err" ||
    fail "an open transaction: $(cat "$work/err")"
[ "$(show held-out | wc -l)" = 2 ] || fail "an open transaction: the output"

# ---- topics that are deleted, or made again, while a member runs -----------------------------------------------

# loses GROUP TOPIC PATTERN COMMAND...: a member has forwarded 10 records. The command takes a topic away. The next 10 records
# must end the member, with such a message, and none of them is in the output.
loses() {
    local status=0 i
    kafka_ops create "$1" 1
    kafka_ops create "$1-out" 1
    seq 10 | produce -t "$1"
    timeout 60 tamis kafka dedup --brokers "$kafka_brokers" --group "$1" --from "$1" --to "$1-out" --commit-every 100ms \
        2> "$work/err" &
    for ((i = 0; i < 300; i++)); do
        [ "$(kcat -b "$kafka_brokers" -C -t "$1-out" -o beginning -e -q -X isolation.level=read_committed | wc -l)" != 10 ] || break
        sleep 0.1
    done
    ((i < 300)) || fail "$1: the first records are not forwarded: $(cat "$work/err")"
    "${@:3}"
    seq 11 20 | produce -t "$1"
    wait $! || status=$?
    [ $status = 2 ] || fail "$1: status $status"
    grep -qE "^tamis: $2" "$work/err" || fail "$1: $(cat "$work/err")"
    echo "$1: $(tail -n 1 "$work/err")"
}
made_again() { # TOPIC
    kafka_ops delete "$1"
    for _ in {1..50}; do
        ! kafka_ops create "$1" 1 2> "$work/err.create" || return 0
        sleep 0.1
    done
    fail "$1 cannot be made again"
}
loses gone 'gone.gone.tamis-state: was deleted, and the keys of all earlier records with it; begin again with another group ' \
    kafka_ops delete gone.gone.tamis-state
[ "$(kcat -b "$kafka_brokers" -C -t gone-out -o beginning -e -q -X isolation.level=read_committed | wc -l)" = 10 ] ||
    fail "gone: records were committed without their state"
loses replaced 'replaced.replaced.tamis-state: was made again, and has lost the keys of all earlier records; begin again ' \
    made_again replaced.replaced.tamis-state
[ "$(kcat -b "$kafka_brokers" -C -t replaced-out -o beginning -e -q -X isolation.level=read_committed | wc -l)" = 10 ] ||
    fail "replaced: records were committed without their state"
# A member that gets a partition after that does not wait for its state.
kafka_ops create shared 2
kafka_ops create shared-out 2
members=()
for member in a b; do
    tamis kafka dedup --brokers "$kafka_brokers" --group shared --from shared --to shared-out --instance $member \
        -X session.timeout.ms=2000 2> "$work/err.$member" &
    members+=($!)
    await_line "$work/err.$member" '[12] of 2 partitions are assigned'
done
kafka_ops delete shared.shared.tamis-state
kill -KILL "${members[1]}"
wait "${members[1]}" || true
for ((i = 0; i < 300; i++)); do
    kill -0 "${members[0]}" 2> /dev/null || break
    sleep 0.1
done
! kill -KILL "${members[0]}" 2> /dev/null || fail "shared: waits for ever: $(cat "$work/err.a")"
status=0
wait "${members[0]}" || status=$?
[ $status = 2 ] || fail "shared: status $status"
grep -q '^tamis: shared.shared.tamis-state: was deleted, ' "$work/err.a" || fail "shared: $(cat "$work/err.a")"
loses unheard 'unheard-out: .*; create the topic, or correct its name$' kafka_ops delete unheard-out
# The next start is refused too.
! dedup gone gone gone-out 2> "$work/err" || fail "a start after the state was deleted"
grep -q '^tamis: group gone, gone \[0\]: has offset [0-9]*, but the state topic gone.gone.tamis-state has no records of it; ' "$work/err" ||
    fail "a start after the state was deleted: $(cat "$work/err")"
echo "all good"
