#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `tamis kafka dedup` is killed at each step of the protocol, or loses the answer of a call (kafka_preload.c); a member is
# stopped until another one has its partitions, and wakes up; the broker is killed, also in front of A2. Each time the
# outputs must be those of an undisturbed run. Last, another cluster takes the place of the broker: the member must end. ctest: peers
# ctest: torture
# ctest: timeout=900
set -euo pipefail
export PATH=$TAMIS_BUILD_DIR/bin:$PATH
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
. "$TAMIS_SOURCE_DIR/tests/support/kafka.bash"
. "$TAMIS_SOURCE_DIR/tests/support/kafka_dedup.bash"

# No key expires within a test, so the outputs are those without a window, and kafka_dedup.sh has none.
dedup_options=(--window 24h)

count=0
: > "$work/all"
# produce_more COUNT
produce_more() {
    records $count "$1" > "$work/more"
    count=$((count + $1))
    cat "$work/more" >> "$work/all"
    produce < "$work/more"
}

step "starting a broker"
start_broker

# ---- every step ------------------------------------------------------------------------------------------

# with_fault FAULT: a run with it. Its status must be that of SIGKILL, or 0 after a lost answer.
with_fault() {
    local status=0
    produce_more 500
    { (KAFKA_FAULT=$1 LD_PRELOAD=$TAMIS_INTEROP_DIR/kafka_preload.so dedup a --until-end --stats) || status=$?; } 2> "$work/err.fault"
    case $1 in
        begin:lost:*) ;; # nothing was open
        *:lost:*) grep -qE '^aborted +[1-9]' "$work/err.fault" || fail "$1: nothing was aborted" ;;
    esac
    case $1:$status in
        *:lost:*:0 | *:before:*:137 | *:after:*:137) ;;
        *) fail "$1: status $status" ;;
    esac
}
step "faults"
produce_more 2000
for fault in init:before:1 init:after:1 assign:after:1 committed:before:1 committed:after:1 assign:before:2 assign:after:3 \
    begin:before:1 begin:after:1 begin:lost:1 produce:before:1 produce:after:300 produce:after:501 produce:after:502 \
    flush:before:1 flush:after:1 offsets:before:1 offsets:after:1 offsets:lost:1 commit:before:1 commit:after:1 \
    commit:lost:1 delivery:lost:1 delivery:lost:400; do
    with_fault $fault
done
drain a
check_outputs "a fault at each step"
check_chain

# A member that goes on after an abort reads its records again, before those that come later.
step "an abort, and more records"
export KAFKA_FAULT=delivery:lost:700
LD_PRELOAD=$TAMIS_INTEROP_DIR/kafka_preload.so start a
unset KAFKA_FAULT
a=$member
for ((i = 0; i < 8; i++)); do
    produce_more 500
    sleep 0.3
done
sleep 1
kill -TERM "$a"
wait "$a" || [ $? = 143 ] || fail "after an abort: not status 143"
drain a
check_outputs "after an abort"
check_chain

# ---- a zombie --------------------------------------------------------------------------------------------

step "a member sleeps, and another one takes its partitions"
for ((round = 0; round < $(scaled 1 2 30); round++)); do
    produce_more 20000
    start a
    a=$member
    sleep "0.$((7 + RANDOM % 3))"
    kill -STOP "$a"
    start b
    b=$member
    sleep 3
    produce_more 5000
    sleep 1
    kill -CONT "$a"
    sleep 2
    kill -TERM "$a" "$b"
    wait "$a" || [ $? = 143 ] || fail "the member that slept: not status 143"
    wait "$b" || [ $? = 143 ] || fail "the other member: not status 143"
    drain b
    drain a
    check_outputs "a member that slept"
    check_chain
done

# ---- the broker is killed ----------------------------------------------------------------------------------

step "the broker is killed"
start a
a=$member
sleep 1
produce_more 20000
sleep "0.$((RANDOM % 10))"
kafka_stop
sleep 1
kafka_again || fail "the broker does not start again"
produce_more 5000
sleep 3
kill -TERM "$a"
wait "$a" || [ $? = 143 ] || fail "after the broker was killed: not status 143"
drain a
check_outputs "a broker that was killed"
check_chain

# reg_25: librdkafka ended the process when the broker came back after a request for the offsets had timed out.
step "the broker is away in front of A2, for longer than an answer may take"
produce_more 500
: > "$work/err.a"
KAFKA_FAULT=committed:pause:1 LD_PRELOAD=$TAMIS_INTEROP_DIR/kafka_preload.so start a
a=$member
for ((i = 0; i < 300; i++)); do
    ! grep -q '^State:.T' "/proc/$a/status" || break
    sleep 0.1
done
((i < 300)) || fail "A2 without a broker: the member does not sleep"
kafka_stop
kill -CONT "$a"
sleep 6
kafka_again || fail "the broker does not start again"
for ((i = 0; i < 300; i++)); do
    ! grep -q '4 of 4 partitions are assigned' "$work/err.a" || break
    kill -0 "$a" 2> /dev/null || fail "A2 without a broker: the member has ended"
    sleep 0.1
done
((i < 300)) || fail "A2 without a broker: the member does not go on"
sleep 1
kill -TERM "$a"
wait "$a" || [ $? = 143 ] || fail "A2 without a broker: not status 143"
drain a
check_outputs "A2 without a broker"
check_chain

# ---- another cluster ---------------------------------------------------------------------------------------

# librdkafka often does not end its connections then (tamis__kafka_client_close).
step "another cluster at the same address"
start a
a=$member
sleep 2
kafka_stop
rm -rf "$kafka_dir"
mkdir "$kafka_dir"
kafka_cluster_id=AAAAAAAAAAAAAAAAAAAAAg kafka_format "$kafka_dir" "$kafka_port"
kafka_again || fail "the other cluster does not start"
for topic in in out again; do
    kafka_ops create $topic 4
done
sleep 3
kill -TERM "$a" 2> /dev/null || true
for ((i = 0; i < 600; i++)); do
    kill -0 "$a" 2> /dev/null || break
    sleep 0.1
done
! kill -KILL "$a" 2> /dev/null || fail "another cluster: the member does not end"
status=0
wait "$a" || status=$?
[ $status = 2 ] || [ $status = 143 ] || fail "another cluster: status $status"
step "all good"
