# SPDX-License-Identifier: BSD-2-Clause
# A private ZooKeeper for scripts. Source "$TAMIS_SOURCE_DIR/tests/support/zookeeper.bash" after redis.bash.
# Without the package zookeeper and Java the script exits with 77: skipped.
#
#     zookeeper_start              starts it on a free port, waits until it accepts sessions, sets $zookeeper_port
#     zookeeper_do < COMMANDS      runs commands of zkCli.sh: create PATH DATA, set PATH DATA, delete PATH
#
# When the script ends, it is killed and its directory is removed, like redis-servers.
zookeeper_jar=/usr/share/java/zookeeper.jar
command -v java > /dev/null && [ -r $zookeeper_jar ] || {
    echo "needs zookeeper and java"
    exit 77
}

zookeeper_start() {
    local try waited reply dir die=()
    ! command -v setpriv > /dev/null || die=(setpriv --pdeathsig KILL)
    dir=$(mktemp -d "${TMPDIR:-/tmp}/tamis-zookeeper-XXXXXX") || exit 2
    redis_dirs+=("$dir")
    for try in 1 2 3 4 5 6 7 8 9 10; do
        zookeeper_port=$((10000 + (RANDOM * 32768 + RANDOM) % 22000))
        printf '%s\n' "dataDir=$dir/data" "clientPort=$zookeeper_port" clientPortAddress=127.0.0.1 tickTime=500 \
            admin.enableServer=false 4lw.commands.whitelist=srvr > "$dir/zoo.cfg"
        "${die[@]}" java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp $zookeeper_jar \
            org.apache.zookeeper.server.quorum.QuorumPeerMain "$dir/zoo.cfg" < /dev/null > "$dir/log" 2>&1 &
        zookeeper_pid=$!
        for ((waited = 0; waited < 3000; waited++)); do
            reply=$({ exec 3<> "/dev/tcp/127.0.0.1/$zookeeper_port" && printf srvr >&3 && head -c 9 <&3; } 2> /dev/null)
            if [ "$reply" = Zookeeper ]; then
                redis_pids+=("$zookeeper_pid")
                return 0
            fi
            kill -0 "$zookeeper_pid" 2> /dev/null || break
            sleep 0.02
        done
        redis_kill "$zookeeper_pid"
    done
    echo "zookeeper does not start: $(tail -1 "$dir/log")" >&2
    exit 2
}

zookeeper_do() {
    java -XX:TieredStopAtLevel=1 -cp $zookeeper_jar org.apache.zookeeper.ZooKeeperMain \
        -server "127.0.0.1:$zookeeper_port" > /dev/null 2>&1
}
