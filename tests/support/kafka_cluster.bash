# SPDX-License-Identifier: BSD-2-Clause
# Three Kafka brokers for scripts, and a network that breaks. Source after kafka.bash.
#
#     cluster_start            starts them and waits until they serve. Each topic has three replicas, of which two must
#                              have a record. $kafka_brokers is where the script's own clients find the brokers, and
#                              $kafka_relayed where the others do: a relay (relay.py) is in front of each broker, and
#                              the brokers tell those clients the addresses of the relays.
#     cluster_signal SIGNAL    to all relays; relay.py says what each signal does
#     cluster_kill BROKER      SIGKILL; brokers are 1 to 3
#     cluster_again            starts those that were killed again, with their data
#     cluster_await            waits until all brokers serve
#     cluster_producer TOPIC   becomes a producer of "key<tab>value": each record once, and those of a partition in their
#                              order, whatever happens to brokers
#     cluster_leader TOPIC PARTITION         prints the broker that leads this partition
#     cluster_coordinator TOPIC NAME         prints the coordinator of a group (__consumer_offsets) or of a
#                                            transactional id (__transaction_state)
cluster_pids=('') cluster_relays=()

# Replaces that of kafka.bash, which runs when the script ends: all that the script has started, such as members that wait
# for brokers.
kafka_stop() {
    # shellcheck disable=SC2046
    kill -KILL $(jobs -p) 2> /dev/null || true
    wait 2> /dev/null || true
    cluster_pids=('') cluster_relays=()
}

# cluster__settings BROKER: settings that differ from those of a single broker. Each broker has 4 ports from $kafka_port on:
# the script's clients and other brokers, controller, clients behind the relay, relay.
cluster__settings() {
    local port=$((kafka_port + 4 * $1 - 4))
    cat << END
node.id=$1
controller.quorum.voters=1@127.0.0.1:$((kafka_port + 1)),2@127.0.0.1:$((kafka_port + 5)),3@127.0.0.1:$((kafka_port + 9))
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1)),RELAYED://127.0.0.1:$((port + 2))
advertised.listeners=PLAINTEXT://127.0.0.1:$port,RELAYED://127.0.0.1:$((port + 3))
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,RELAYED:PLAINTEXT
default.replication.factor=3
min.insync.replicas=2
offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
END
}

cluster__run() {
    local die=()
    ! command -v setpriv > /dev/null || die=(setpriv --pdeathsig KILL)
    rm -f "$kafka_dir/$1/log"
    kafka_run "$kafka_dir/$1" "${die[@]}" &
    cluster_pids[$1]=$!
}
cluster__relay() {
    local port=$((kafka_port + 4 * $1 - 4)) die=()
    ! command -v setpriv > /dev/null || die=(setpriv --pdeathsig KILL)
    "${die[@]}" python3 "$TAMIS_SOURCE_DIR/tests/support/relay.py" $((port + 3)) $((port + 2)) < /dev/null 2>> "$work/err.relay" &
    cluster_relays+=($!)
}

cluster__relays_run() {
    local relay
    for relay in "${cluster_relays[@]}"; do
        kill -0 "$relay" || return 1
    done
}

cluster_start() {
    local try broker formats
    for try in 1 2 3 4 5; do
        rm -rf "$kafka_dir"
        kafka_port=$((10000 + (RANDOM * 32768 + RANDOM) % 22000)) # below those that systems give to clients
        kafka_brokers=127.0.0.1:$kafka_port,127.0.0.1:$((kafka_port + 4)),127.0.0.1:$((kafka_port + 8))
        kafka_relayed=127.0.0.1:$((kafka_port + 3)),127.0.0.1:$((kafka_port + 7)),127.0.0.1:$((kafka_port + 11))
        formats=()
        for broker in 1 2 3; do
            mkdir -p "$kafka_dir/$broker"
            kafka_extra=$(cluster__settings $broker) kafka_format "$kafka_dir/$broker" "$kafka_port" &
            formats+=($!)
        done
        for broker in 0 1 2; do
            wait "${formats[broker]}" || continue 2
        done
        for broker in 1 2 3; do
            cluster__run $broker
            cluster__relay $broker
        done
        ! cluster_await || ! cluster__relays_run || return 0
        kafka_stop
    done
    echo "three brokers do not start: $(tail -qn 3 "$kafka_dir"/?/log "$kafka_dir"/?/format 2> /dev/null)" >&2
    exit 2
}

cluster_signal() { kill "-$1" "${cluster_relays[@]}"; }
cluster_kill() {
    kill -KILL "${cluster_pids[$1]}"
    wait "${cluster_pids[$1]}" 2> /dev/null || true
    cluster_pids[$1]=''
}
cluster_again() {
    local broker
    for broker in 1 2 3; do
        [ -n "${cluster_pids[broker]}" ] || cluster__run $broker
    done
}
cluster_await() {
    local broker
    for broker in 1 2 3; do
        kafka_await "${cluster_pids[broker]}" "$kafka_dir/$broker" || return 1
    done
}

# Kafka's own producer. That of librdkafka 2.0 gives up if a partition gets another leader at a bad moment: a fatal error
# of sequence numbers (its issue 3584, fixed in 2.3).
cluster_producer() {
    exec java "${kafka_java[@]}" org.apache.kafka.tools.ConsoleProducer --bootstrap-server "$kafka_brokers" --topic "$1" \
        --property parse.key=true --timeout 5 --request-timeout-ms 10000 --max-block-ms 600000 \
        --message-send-max-retries 2147483647 --producer-property delivery.timeout.ms=600000 > "$work/err.producer" 2>&1
}

cluster_leader() {
    kcat -b "$kafka_brokers" -L -t "$1" 2> "$work/err.leader" |
        sed -n "s/^ *partition $2, leader \([1-3]\),.*/\1/p"
}
# Kafka takes partition abs(hash) modulo 4 of these topics, with Java's hash of strings.
cluster_coordinator() {
    local i hash=0
    for ((i = 0; i < ${#2}; i++)); do
        hash=$(((31 * hash + $(printf %d "'${2:i:1}")) & 0xffffffff))
    done
    ((hash < 0x80000000)) || hash=$((0x100000000 - hash))
    cluster_leader "$1" $((hash % 4))
}
