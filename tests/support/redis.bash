# SPDX-License-Identifier: BSD-2-Clause
# Private redis-servers for scripts. Source "$TAMIS_SOURCE_DIR/tests/support/redis.bash", after random.bash if
# that is used too. Without redis-server the script exits with 77: skipped.
#
#     redis_start [--option value ...]   starts one on a free port and waits until it answers; sets $redis_port,
#                                        $redis_socket, $redis_dir, $redis_uri and $redis_pid
#     redis_command WORD...              redis-cli on the server started last
#     redis_kill PID                     SIGKILL, and waits until it is gone
#
# When the script ends, in whatever way, the servers are killed and their directories are removed.
for redis_needed in redis-server redis-cli; do
    command -v $redis_needed > /dev/null || {
        echo "needs $redis_needed"
        exit 77
    }
done
redis_pids=() redis_dirs=()

redis__end() {
    local pid
    for pid in "${redis_pids[@]}"; do
        redis_kill "$pid"
    done
    [ ${#redis_dirs[@]} -eq 0 ] || rm -rf "${redis_dirs[@]}"
}

redis__trap() { # runs after the script's own EXIT trap
    eval "set -- $(trap -p EXIT)"
    redis__before=${3-}
    trap 'eval "$redis__before"; redis__end' EXIT
    trap 'exit 143' TERM
    trap 'exit 130' INT
}
redis__trap

redis_kill() {
    kill -KILL "$1" 2> /dev/null || true # it may have ended
    wait "$1" 2> /dev/null || true
}

redis_start() {
    local try waited die=()
    # Also ends the server if the script is killed with SIGKILL.
    ! command -v setpriv > /dev/null || die=(setpriv --pdeathsig KILL)
    redis_dir=$(mktemp -d "${TMPDIR:-/tmp}/tamis-redis-XXXXXX") || exit 2
    redis_dirs+=("$redis_dir")
    redis_socket=$redis_dir/socket
    for try in 1 2 3 4 5 6 7 8 9 10; do
        redis_port=$((10000 + (RANDOM * 32768 + RANDOM) % 22000)) # below those that systems give to clients
        "${die[@]}" redis-server --port "$redis_port" --bind 127.0.0.1 --unixsocket "$redis_socket" --save "" \
            --dir "$redis_dir" --logfile "$redis_dir/log" "$@" < /dev/null > /dev/null 2>&1 &
        redis_pid=$!
        for ((waited = 0; waited < 3000; waited++)); do
            # By its own socket, so that no other server can answer.
            if redis-cli -s "$redis_socket" ping > "$redis_dir/ping" 2> /dev/null &&
                ! grep -q LOADING "$redis_dir/ping"; then
                redis_pids+=("$redis_pid")
                redis_uri=redis://127.0.0.1:$redis_port
                return 0
            fi
            kill -0 "$redis_pid" 2> /dev/null || break
            sleep 0.02
        done
        redis_kill "$redis_pid"
    done
    echo "redis-server does not start: $(tail -1 "$redis_dir/log" 2> /dev/null)" >&2
    exit 2
}

redis_command() {
    redis-cli -s "$redis_socket" "$@"
}
