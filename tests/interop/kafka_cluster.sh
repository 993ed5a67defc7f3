#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `tamis kafka dedup` and `count` on three brokers. While records come, the network between them and the brokers breaks in
# front of a chosen call, or a broker is killed that this call needs; then the member is killed, or stopped. Each time the
# member must go on by itself. At the end the outputs and the counts are those of an undisturbed run. Last, topics with one
# replica whose broker is away. ctest: peers
# ctest: torture
# ctest: timeout=600
set -euo pipefail
export PATH=$TAMIS_BUILD_DIR/bin:$PATH
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
. "$TAMIS_SOURCE_DIR/tests/support/kafka.bash"
. "$TAMIS_SOURCE_DIR/tests/support/kafka_cluster.bash"
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
. "$TAMIS_SOURCE_DIR/tests/support/kafka_dedup.bash"
command -v python3 > /dev/null || {
    echo "needs python3"
    exit 77
}

step "starting three brokers and a Redis"
cluster_start
for topic in in out again; do
    kafka_ops create $topic 4
done
redis_start
dedup_options=(--window 24h --metrics "$work/metrics")
# count INSTANCE OPTION...: becomes a member
count() {
    exec tamis kafka count --brokers "$kafka_relayed" --group counts --from in --to "$redis_uri" --count 'keys:{kafka:key}' \
        --count total --commit-every 100ms --instance "$1" -X session.timeout.ms=2000 -X heartbeat.interval.ms=500 "${@:2}"
}

# ---- records come all the time -------------------------------------------------------------------------------

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
cluster_producer in < <(feed) &
producer=$!

# ---- a fault in front of a call ------------------------------------------------------------------------------

faults=0
# progress COMMAND: a number that grows when the member commits
progress() {
    case $1 in
        dedup) sed -n 's/^tamis_kafka_transactions_total //p' "$work/metrics" 2> /dev/null ;;
        count) redis_command get total ;;
    esac
}
# goes_on COMMAND PID MORE: waits until this member has committed so much more than now. The figures of dedup are up to a
# second old, and may lack what it has committed before the fault.
goes_on() {
    local waited before now
    before=$(progress "$1")
    for ((waited = 0; waited < 600; waited++)); do
        now=$(progress "$1")
        [ "${now:-0}" -lt $((${before:-0} + $3)) ] || return 0
        kill -0 "$2" 2> /dev/null || fail "the member has ended"
        kill -0 $producer 2> /dev/null || fail "the producer of the input has ended"
        sleep 0.1
    done
    fail "the member does not go on"
}
# fault COMMAND STEP N HARM [SETTING]: a member stops in front of call N of this step (kafka_preload.c), the harm begins, and
# the member goes on. A broker that was killed is started again when the member has committed without it.
fault() {
    local command=$1 call=$2:pause:$3 harm=$4 begun=$SECONDS broker='' member waited
    cluster_await || fail "a broker does not start again"
    rm -f "$work/metrics"
    (KAFKA_FAULT=$call LD_PRELOAD=$TAMIS_INTEROP_DIR/kafka_preload.so "$command" a ${5+-X "$5"}) 2>> "$work/err.$command" &
    member=$!
    for ((waited = 0; waited < 600; waited++)); do
        ! grep -q '^State:.T' "/proc/$member/status" 2> /dev/null || break
        sleep 0.1
    done
    grep -q '^State:.T' "/proc/$member/status" || fail "$call: is not reached"
    case $harm in
        silence) cluster_signal STOP ;;
        deaf) cluster_signal USR2 ;;
        reset) cluster_signal USR1 ;;
        leader) broker=$(cluster_leader "$([ "$command" = dedup ] && echo out || echo in)" 0) ;;
        group) broker=$(cluster_coordinator __consumer_offsets "$([ "$command" = dedup ] && echo once || echo counts)") ;;
        transaction) broker=$(cluster_coordinator __transaction_state once.tamis.a) ;;
    esac
    [ -z "$broker" ] || cluster_kill "$broker"
    kill -CONT "$member"
    case $harm in
        silence) sleep 4 && cluster_signal CONT ;;
        deaf) sleep 1 && cluster_signal USR1 ;;
    esac
    goes_on "$command" "$member" $(($3 < 5 ? $3 : 5))
    cluster_again
    step "$command $call $harm${broker:+ $broker} took $((SECONDS - begun)) s"
    if ((++faults % 4 == 0)); then
        kill -TERM "$member"
        wait "$member" || [ $? = 143 ] || fail "SIGTERM: not status 143"
    else
        kill -KILL "$member"
        wait "$member" 2> /dev/null || true
    fi
}

fault dedup flush 3 leader
fault dedup commit 3 deaf
fault dedup offsets 3 group
fault dedup offsets 3 silence transaction.timeout.ms=3000
fault dedup commit 3 transaction
fault dedup produce 500 reset
fault count script 3 leader
fault count offset 3 deaf

# pick WORD...: prints one of them
pick() { echo "${@:1 + RANDOM % $#:1}"; }
second=''
# A fault takes 4 to 20 seconds. The clock ends them, so that a slow machine gets to the comparison too.
harm_seconds=$(scaled 0 0 2400)
for ((i = 0; SECONDS < harm_seconds; i++)); do
    if ((i % 4 == 0)); then # another member comes and goes meanwhile
        [ -z "$second" ] || killed "$second"
        (dedup_options=(--window 24h); dedup b) 2>> "$work/err.b" &
        second=$!
    fi
    settings=$(pick socket.timeout.ms=60000 socket.timeout.ms=1500 transaction.timeout.ms=3000)
    if ((RANDOM % 4 == 0)); then
        fault count "$(pick offset script)" $((1 + RANDOM % 5)) "$(pick silence deaf reset leader group)"
    else
        fault dedup "$(pick init assign committed)" 1 "$(pick silence deaf reset leader group transaction)" "$settings"
        fault dedup "$(pick begin flush offsets commit)" $((1 + RANDOM % 5)) \
            "$(pick silence deaf reset leader group transaction)" "$settings"
    fi
done
[ -z "$second" ] || killed "$second"

# ---- the result ------------------------------------------------------------------------------------------------

step "the rest, after $faults faults"
cluster_await || fail "a broker does not start again"
rm "$work/flows"
wait $producer || fail "the records are not produced"
# Each keeps its partitions until its session is over.
[ -z "$second" ] || drain b
drain a
check_outputs "three brokers"
check_chain
aborted=$(($(kcat -b "$kafka_brokers" -C -t out -o beginning -e -q -X isolation.level=read_uncommitted | wc -l) - $(wc -l < "$work/out")))
step "$(wc -l < "$work/all") records, $(wc -l < "$work/chain") transactions are committed; $aborted records of aborted ones are in the output"
[ $aborted -gt 0 ] || fail "no fault has aborted a transaction"

(count a --until-end) 2> "$work/err.drain" || fail "the rest is not counted"
cut -f 1 "$work/all" | sort | uniq -c | awk '{ print "keys:" $2, $1; total += $1 } END { print "total", total }' | sort > "$work/expected"
redis_command --scan | grep -v tamis-count > "$work/names"
sed 's/^/GET /' "$work/names" | redis_command | paste -d ' ' "$work/names" - | sort > "$work/counts"
cmp "$work/expected" "$work/counts" || fail "the counts differ: total $(redis_command get total)"

# ---- topics with one replica -------------------------------------------------------------------------------------

step "a topic with one replica, whose broker is away"
kafka_ops single lone 2
kafka_ops single lone-once 1
seq 1000 | sed 's/.*/k&\tv/' | kcat -b "$kafka_brokers" -P -t lone -K "$tab"
cluster_kill 2
tamis kafka count --brokers "$kafka_relayed" --group lone --from lone --to "$redis_uri" --count lone --until-end 2> "$work/err.lone" &
counter=$!
tamis kafka dedup --brokers "$kafka_relayed" --group lone-once --from lone --to lone-once --until-end --window 24h 2> "$work/err.lone-once" &
member=$!
sleep 3
kill -0 $counter || fail "count has not waited for the broker"
kill -0 $member || fail "dedup has not waited for the broker"
cluster_again
cluster_await || fail "broker 2 does not start again"
wait $counter || fail "count has failed"
wait $member || fail "dedup has failed"
[ "$(redis_command get lone)" = 1000 ] || fail "count has not waited for the records"
[ "$(read_topic lone-once | wc -l)" = 1 ] || fail "dedup has not waited for the records"
grep -q '^tamis: lone-once: has one replica, so ' "$work/err.lone-once" || fail "no remark about the replica"
step "all good"
