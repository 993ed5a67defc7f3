#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `tamis kafka dedup --window` on a real broker: the command is killed again and again while records come, some of them
# late. Each record gets the answer of an oracle that has seen all of them in order. State records that have expired are
# removed from the state topic, and removing more is noticed. ctest: peers
# ctest: torture
# ctest: timeout=900
set -euo pipefail
export PATH=$TAMIS_BUILD_DIR/bin:$PATH
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
. "$TAMIS_SOURCE_DIR/tests/support/kafka.bash"
. "$TAMIS_SOURCE_DIR/tests/support/kafka_dedup.bash"

count=$(scaled 12000 40000 1000000)
kills=$(scaled 3 8 100)
step=900 window=14400                                     # seconds
begin=$(($(date +%s) - 100 * 3600)) # the records are of the 100 hours before now

# timed_records FIRST END: "key<tab>time,number"; about 30 % repeat a key, up to twice a window later. A tenth is up to a step
# older than the one before, and some are late.
timed_records() {
    awk -v first="$1" -v end="$2" -v count="$count" -v seed="$seed" -v begin="$begin" -v step=$step 'BEGIN {
        srand(seed + first)
        for (i = first; i < end; i++) {
            key = i > 0 && rand() < 0.3 ? i - int(rand() * rand() * count / 12) : i
            time = begin + i * 100 * 3600 / count
            dice = rand()
            if (dice < 0.1)
                time -= rand() * step
            else if (dice < 0.13)
                time -= rand() * 5 * step
            printf "key-%d\t%d.%03d,%d\n", key < 0 ? 0 : key, time, rand() * 1000, i
        }
    }'
}

# oracle WINDOW: reads "partition key time,number" in the order of each partition, and prints "key time,number answer".
oracle() {
    awk -F "$tab" -v window="$1" -v step=$step '
        function floor(t) { return t - t % step }
        {
            split($3, part, ",")
            time = part[1] + 0
            if (!($1 in newest) || time > newest[$1])
                newest[$1] = time
            if (time * 1000 < newest[$1] * 1000 - step * 1000 - 0.5) {
                print $2 "\t" $3 "\tlate"
                next
            }
            found = 0
            size = split(counted[$2], at, " ")
            for (i = 1; i <= size; i++)
                found += at[i] >= floor(time - window) && at[i] < floor(time) + step
            if (!found)
                counted[$2] = counted[$2] sprintf(" %.3f", time)
            print $2 "\t" $3 "\t" (found ? "duplicate" : "unique")
        }'
}
# Hashes of 48 bits. The filter is hardly used, so its rate is far below 1e-6.
window_options=(--window ${window}s --step ${step}s --time csv:1 --fpr 1e-6 --expect 1000000)
window_drain() { drain a "${window_options[@]}"; }
# check_window NAME: compares both outputs with the oracle's answers
check_window() {
    kcat -b "$kafka_brokers" -C -t in -o beginning -e -q -f '%p\t%k\t%s\n' > "$work/in"
    oracle $window < "$work/in" > "$work/answers"
    grep -v 'duplicate$' "$work/answers" | cut -f 1,2 | sort > "$work/expected"
    grep 'duplicate$' "$work/answers" | cut -f 1,2 | sort > "$work/expected.again"
    read_topic out | sort > "$work/out"
    read_topic again | sort > "$work/again"
    step "$(cut -f 3 "$work/answers" | sort | uniq -c | tr -s ' \n' ' ')"
    cmp "$work/expected" "$work/out" || fail "$1: the output"
    cmp "$work/expected.again" "$work/again" || fail "$1: the duplicates"
}

step "starting a broker"
start_broker

step "$count records, $kills kills"
timed_records 0 $((count * 7 / 10)) > "$work/all"
slowly $((kills * 8)) 0.15 < "$work/all" | produce &
producer=$!
for ((i = 0; i < kills; i++)); do
    dedup a "${window_options[@]}" 2>> "$work/err.a" &
    member=$!
    sleep "$((RANDOM % 2)).$((3 + RANDOM % 7))"
    killed $member
done
wait $producer
window_drain
check_window "killed"
for part in 70 80; do # each is longer than the window
    timed_records $((count * part / 100)) $((count * (part + 5) / 100)) | produce
    window_drain
    timed_records $((count * (part + 5) / 100)) $((count * (part + 10) / 100)) | produce
    # Killed before the first cut, or when it was carried out.
    fault=cut:$([ $part = 70 ] && echo before || echo after):1 status=0
    { (KAFKA_FAULT=$fault LD_PRELOAD=$TAMIS_INTEROP_DIR/kafka_preload.so dedup a --until-end "${window_options[@]}") ||
        status=$?; } 2> "$work/err.fault"
    [ $status = 137 ] || fail "$fault: status $status"
    window_drain
done
check_window "in order"

# The comparison finds a window that is a step longer or shorter.
for other in $((window + 2 * step)) $((window - 2 * step)); do
    oracle $other < "$work/in" | grep -v 'duplicate$' | cut -f 1,2 | sort > "$work/planted"
    ! cmp -s "$work/planted" "$work/out" || fail "a wrong window is not found"
done

# ---- the state ---------------------------------------------------------------------------------------------

# The brokers remove records soon after they were asked to.
first_offset() { # of partition 0; sets $work/chain
    kafka_ops chain once.in.tamis-state > "$work/chain" && awk '$1 == 0 { print $2; exit }' "$work/chain"
}
first_offset > "$work/first"
for _ in {1..50}; do
    cp "$work/chain" "$work/chain.before"
    sleep 0.3
    first_offset > "$work/first"
    ! cmp -s "$work/chain" "$work/chain.before" || break
done
kept=$(awk '{ sum += $5 } END { print sum }' "$work/chain")
unique=$(grep -c 'unique$' "$work/answers")
step "$kept of $unique hashes are kept"
((kept < unique / 2)) || fail "the state was not cut"
window_drain
restored=$(awk '/^restored keys/ { gsub(",", ""); print $3 }' "$work/err.drain")
[ "$restored" = "$kept" ] || fail "$restored keys are restored of $kept"

step "a cut that comes late, while another member reads the state"
timed_records $((count * 9 / 10)) "$count" | produce
(KAFKA_FAULT=cut:lost:0 LD_PRELOAD=$TAMIS_INTEROP_DIR/kafka_preload.so dedup a --until-end "${window_options[@]}") ||
    fail "without cuts"
first=$(first_offset)
needed=$(awk '$1 == 0 { needed = $6 } END { print needed }' "$work/chain")
((needed > first)) || fail "the cut was not lost"
(KAFKA_FAULT=read:pause:1 LD_PRELOAD=$TAMIS_INTEROP_DIR/kafka_preload.so dedup a --until-end "${window_options[@]}") \
    2> "$work/err.fault" &
member=$!
for _ in {1..100}; do
    ! grep -q 'T (stopped)' /proc/$member/status || break
    sleep 0.1
done
grep -q 'T (stopped)' /proc/$member/status || fail "the member does not restore"
kafka_ops cut once.in.tamis-state 0 "$needed"
kill -CONT $member
wait $member || fail "a cut while the state is read"
first_offset > "$work/first"
(($(cat "$work/first") >= needed)) || fail "the cut was not made"
check_window "to the end"

# ---- refusals ----------------------------------------------------------------------------------------------

# refused PATTERN OPTION...: ends with status 2 and such a message
refused() {
    local pattern=$1 status=0
    shift
    (dedup a --until-end "$@") 2> "$work/err.refused" || status=$?
    [ $status = 2 ] || fail "not refused (status $status): $pattern"
    grep -qE "$pattern" "$work/err.refused" || fail "another message than: $pattern"
}
refused 'was made with window=14400000ms, not window=none; '
refused 'was made with window=14400000ms, not window=14401000ms; ' --window 14401s --step ${step}s --time csv:1
refused 'was made with time=csv:1, not time=kafka; ' --window ${window}s --step ${step}s
# Two days ahead: it would make all others late. It passes like a late one, and does not move the window.
printf 'key-0\t%d,ahead\n' $(($(date +%s) + 172800)) | produce
drain a "${window_options[@]}"
grep -qE '^tamis: in \[[0-3]\]: offset [0-9]+: its time is ahead of the clock of this host; ' "$work/err.drain" || fail "no remark"
grep -qE '^late +1$' "$work/err.drain" || fail "a time ahead of the clock"
first_offset > "$work/first"
kafka_ops cut once.in.tamis-state 0 "$(awk '$1 == 0 { last = $2 } END { print last }' "$work/chain")"
refused 'once.in.tamis-state \[0\]: its records from offset [0-9]+ to [0-9]+ were removed, so keys are missing; ' \
    "${window_options[@]}"
step "all good"
