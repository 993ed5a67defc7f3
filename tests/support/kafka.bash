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
# $kafka_extra, if set before, has further settings of the broker; @PORT@ and @TLS@ are the ports after those that it has.
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

. "$TAMIS_SOURCE_DIR/tests/support/kafka_broker.bash"

kafka_again() {
    local die=()
    ! command -v setpriv > /dev/null || die=(setpriv --pdeathsig KILL)
    rm -f "$kafka_dir/log"
    kafka_run "$kafka_dir" "${die[@]}" &
    kafka_pid=$!
    ! kafka_await "$kafka_pid" "$kafka_dir" || return 0
    kafka_stop
    return 1
}

kafka_start() {
    local try
    for try in 1 2 3 4 5; do
        rm -rf "$kafka_dir"
        mkdir "$kafka_dir" || exit 2
        kafka_port=$((10000 + (RANDOM * 32768 + RANDOM) % 22000)) # below those that systems give to clients
        kafka_format "$kafka_dir" "$kafka_port" || continue
        kafka_brokers=127.0.0.1:$kafka_port
        ! kafka_again || return 0
    done
    echo "Kafka does not start: $(tail -n 3 "$kafka_dir/log" "$kafka_dir/format" 2> /dev/null)" >&2
    exit 2
}
