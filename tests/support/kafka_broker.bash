# SPDX-License-Identifier: BSD-2-Clause
# A Kafka broker of one node that starts fast and is small: for tests (kafka.bash) and ./dev kafka. Set kafka_libs, the
# directory with its jars, before you source this.
#
#     kafka_format DIRECTORY PORT     makes its settings and its data; PORT + 1 must be free too
#                                     $kafka_extra has further settings; @PORT@ is PORT + 2, @TLS@ PORT + 3.
#                                     $kafka_cluster_id makes another cluster
#     kafka_run DIRECTORY             becomes the broker; its log is DIRECTORY/log
#     kafka_await PID DIRECTORY       waits until it serves; fails if it ends instead, or after a minute
#     kafka_archive DIRECTORY PORT    makes the archive of Java's classes, with which a broker starts in less than half
#                                     of the time; DIRECTORY must be empty
#
# Brokers are started often and have few records: Java's slow compiler would not pay.
kafka_java=(-Xmx256m -XX:+UseSerialGC -XX:-UsePerfData -XX:TieredStopAtLevel=1 -cp "$kafka_libs/*")
[ ! -e "$kafka_libs/broker.jsa" ] ||
    kafka_java=("-XX:SharedArchiveFile=$kafka_libs/broker.jsa" -Xlog:disable "${kafka_java[@]}")

# kafka_format DIRECTORY PORT: writes DIRECTORY/properties and formats the data. The default delays suit clusters.
kafka_format() {
    local directory=$1 port=$2
    cat > "$directory/properties" << END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((port + 1))
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))
advertised.listeners=PLAINTEXT://127.0.0.1:$port
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs=$directory/data
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
    printf '%s\n' "${kafka_extra-}" |
        sed "s/@PORT@/$((port + 2))/g; s/@TLS@/$((port + 3))/g; s/@CLIENTS@/$port/g; s/@CONTROLLER@/$((port + 1))/g" >> "$directory/properties"
    java "${kafka_java[@]}" kafka.tools.StorageTool format -t "${kafka_cluster_id-AAAAAAAAAAAAAAAAAAAAAQ}" \
        -c "$directory/properties" < /dev/null > "$directory/format" 2>&1
}

# kafka_run DIRECTORY [WRAPPER...]: the wrapper is a command that runs the rest of its arguments.
kafka_run() { exec "${@:2}" java "${kafka_java[@]}" kafka.Kafka "$1/properties" < /dev/null > "$1/log" 2>&1; }

kafka_await() {
    local waited
    for ((waited = 0; waited < 600; waited++)); do
        ! grep -q 'Kafka Server started' "$2/log" 2> /dev/null || return 0
        kill -0 "$1" 2> /dev/null || return 1
        sleep 0.1
    done
    return 1
}

# The archive is made when the broker ends. Java goes without it, silently, where jars or Java are others.
kafka_archive() {
    kafka_format "$1" "$2" || return
    local kafka_java=("-XX:ArchiveClassesAtExit=$1/broker.jsa" "${kafka_java[@]}") broker
    kafka_run "$1" &
    broker=$!
    kafka_await $broker "$1"
    kill $broker 2> /dev/null
    wait $broker || true # Java ends with 143
    mv "$1/broker.jsa" "$kafka_libs/broker.jsa"
}
