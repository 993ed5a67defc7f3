#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Clicks of a topic, each counted once by several dimensions in a Redis:
#
#     clicks --> dedup-1, dedup-2 --> clicks-once --> count-1 --> Redis
#
#     pipeline.sh                            starts all three processes, and again those that end by a fault
#     pipeline.sh dedup|count NAME OPTION... becomes one of them
#
# $BROKERS and $REDIS say where Kafka and Redis are. The first form is a small supervisor, for one host. On several hosts
# run the second form under systemd or Kubernetes, with names that stay: they are the --instance of a process.
set -u
: "${BROKERS:=localhost:9092}" "${REDIS:=redis://localhost:6379}"

case ${1-} in
dedup)
    exec tamis kafka dedup --brokers "$BROKERS" --group clicks-dedup --from clicks --to clicks-once \
        --key json:/event_id --window 24h --time json:/ts --instance "${@:2}"
    ;;
count)
    exec tamis kafka count --brokers "$BROKERS" --group clicks-count --from clicks-once --to "$REDIS" --time json:/ts \
        --count 'clicks:{day}' --count 'clicks:{day}:{json:/from}' --count 'nodes:{hour}:{json:/node}' \
        --distinct 'users:{day}={json:/user_id}' --instance "${@:2}"
    ;;
esac

# keep NAME: starts it, and again unless it ends in order.
keep() {
    local pid='' stopping='' status
    # Without a process, the signal only ends the loop.
    trap 'stopping=1; [ -z "$pid" ] || { kill -TERM "$pid"; wait "$pid"; exit; }' TERM
    while [ -z "$stopping" ]; do
        "$0" "${1%-*}" "$1" &
        pid=$!
        [ -z "$stopping" ] || { kill -TERM "$pid"; wait "$pid"; exit; } # it came just before
        echo "$1: process $pid" >&2
        wait "$pid"
        status=$? pid=''
        echo "$1: ended with status $status; it is started again" >&2
        sleep 1
    done
}
for name in dedup-1 dedup-2 count-1; do keep "$name" & done
trap 'kill -TERM $(jobs -p)' TERM INT
wait # until a signal comes
wait # until all have ended
