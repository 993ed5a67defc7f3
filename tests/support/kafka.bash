# SPDX-License-Identifier: BSD-2-Clause
# A private Kafka broker for scripts. Source "$TAMIS_SOURCE_DIR/tests/support/kafka.bash" after random.bash, whose $work
# has its files. Without Java, kcat, librdkafka or the broker of ./dev peers the script exits with 77: skipped. TAMIS_KAFKA_LIBS names
# another directory with the jars of a broker.
#
#     kafka_start                    starts it on free ports and waits until it serves; sets $kafka_brokers and $kafka_pid
#     kafka_stop                     SIGKILL
#     kafka_again                    starts it again after kafka_stop, with its data
#     kafka_ops VERB ARG...          topics, settings, offsets and state records: see interop/kafka_ops.c
#
# $kafka_extra, if set before, has further settings of the broker; @PORT@ is the port after those that it has.
#
# When the script ends, in whatever way, the broker is killed. Its heap is 256 MiB.
kafka_libs=${TAMIS_KAFKA_LIBS-$TAMIS_SOURCE_DIR/build/peers/kafka}
[ -n "$(ls "$kafka_libs"/kafka_2.13*.jar 2> /dev/null)" ] || {
    echo "needs the Kafka broker of ./dev peers"
    exit 77
}
if [ ! -x "${TAMIS_INTEROP_DIR-}/kafka_ops" ]; then
    echo "needs a build with librdkafka"
    exit 77
fi
for kafka_needed in java kcat; do
    command -v $kafka_needed > /dev/null || {
        echo "needs $kafka_needed"
        exit 77
    }
done
kafka_pid='' kafka_brokers='' kafka_port=''
kafka_dir=$work/kafka

kafka_ops() { "$TAMIS_INTEROP_DIR/kafka_ops" "$kafka_brokers" "$@"; }
kafka__trap() { # runs before the script's own EXIT trap, which removes $work
    eval "set -- $(trap -p EXIT)"
    kafka__before=${3-}
    # A child that gets SIGTERM before it has reset its traps may run this one.
    trap '[ $BASHPID != $$ ] || { kafka_stop; eval "$kafka__before"; }' EXIT
    trap 'exit 143' TERM
    trap 'exit 130' INT
}
kafka__trap

kafka_stop() {
    [ -z "$kafka_pid" ] || kill -KILL "$kafka_pid" 2> /dev/null
    [ -z "$kafka_pid" ] || wait "$kafka_pid" 2> /dev/null || true
    kafka_pid=''
}

# Settings for one node that starts fast and is small. The default delays suit clusters, not tests.
kafka__config() {
    cat << END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((kafka_port + 1))
listeners=PLAINTEXT://127.0.0.1:$kafka_port,CONTROLLER://127.0.0.1:$((kafka_port + 1))
advertised.listeners=PLAINTEXT://127.0.0.1:$kafka_port
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs=$kafka_dir/data
auto.create.topics.enable=false
num.network.threads=1
num.io.threads=2
background.threads=2
num.recovery.threads.per.data.dir=1
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
offsets.topic.segment.bytes=1048576
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
transaction.state.log.segment.bytes=1048576
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
log.retention.check.interval.ms=5000
log.cleaner.dedupe.buffer.size=8388608
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
END
    # The last value of a setting counts.
    printf '%s\n' "${kafka_extra-}" | sed "s/@PORT@/$((kafka_port + 2))/g; s/@CLIENTS@/$kafka_port/g; s/@CONTROLLER@/$((kafka_port + 1))/g"
}

kafka__java=(java -Xmx256m -XX:+UseSerialGC -XX:-UsePerfData -cp "$kafka_libs/*")

kafka_again() {
    local die=() waited
    ! command -v setpriv > /dev/null || die=(setpriv --pdeathsig KILL)
    : > "$kafka_dir/log"
    "${die[@]}" "${kafka__java[@]}" kafka.Kafka "$kafka_dir/properties" < /dev/null > "$kafka_dir/log" 2>&1 &
    kafka_pid=$!
    for ((waited = 0; waited < 600; waited++)); do
        ! grep -q 'Kafka Server started' "$kafka_dir/log" || return 0
        kill -0 "$kafka_pid" 2> /dev/null || break
        sleep 0.1
    done
    kafka_stop
    return 1
}

kafka_start() {
    local try
    for try in 1 2 3 4 5; do
        rm -rf "$kafka_dir"
        mkdir "$kafka_dir" || exit 2
        kafka_port=$((10000 + (RANDOM * 32768 + RANDOM) % 22000)) # below those that systems give to clients
        kafka__config > "$kafka_dir/properties"
        "${kafka__java[@]}" -XX:TieredStopAtLevel=1 kafka.tools.StorageTool format -t AAAAAAAAAAAAAAAAAAAAAQ \
            -c "$kafka_dir/properties" < /dev/null > "$kafka_dir/format" 2>&1 || continue
        kafka_brokers=127.0.0.1:$kafka_port
        ! kafka_again || return 0
    done
    echo "Kafka does not start: $(tail -n 3 "$kafka_dir/log" "$kafka_dir/format" 2> /dev/null)" >&2
    exit 2
}
