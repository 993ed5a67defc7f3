# SPDX-License-Identifier: BSD-2-Clause
# A redis-server of a script's own: source it after support/random.bash, whose folder $work it lies in. redis_start gives
# $redis_port; the server goes with the script, however that ends.
command -v redis-server >/dev/null && command -v redis-cli >/dev/null || { echo "skipped: no redis-server"; exit 77; }
redis_pid=
trap 'redis_stop; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

redis_cli() { redis-cli -p "$redis_port" "$@"; }

# redis_start [OPTION...]: on a port that nobody has.
redis_start() {
    local tries wait
    for ((tries = 0; tries < 50; tries++)); do
        redis_port=$((10000 + RANDOM % 20000))
        redis-server --port "$redis_port" --bind 127.0.0.1 --save "" --dir "$work" "$@" >"$work/redis.log" 2>&1 &
        redis_pid=$!
        for ((wait = 0; wait < 200; wait++)); do
            kill -0 "$redis_pid" 2>/dev/null || break # the port is taken
            [ "$(redis_cli info server 2>/dev/null | tr -d '\r' | sed -n 's/^process_id://p')" != "$redis_pid" ] || return 0
            sleep 0.05
        done
        redis_stop
    done
    echo "no redis-server to be had: $(tail -n 5 "$work/redis.log")"
    exit 2
}

redis_stop() {
    [ -n "$redis_pid" ] || return 0
    kill "$redis_pid" 2>/dev/null
    wait "$redis_pid" 2>/dev/null
    redis_pid=
}
