# SPDX-License-Identifier: BSD-2-Clause
# A redis-server of the script's own, on a socket in $work: source after random.bash. $redis_socket is its path, $redis_uri
# begins a URI of a filter there. It goes with the script.
command -v redis-server >/dev/null || { echo "skipped: no redis-server"; exit 77; }
redis_socket=$work/redis.sock
redis_uri="redis+unix://${redis_socket//\//%2F}"
(cd "$work" && exec redis-server --port 0 --unixsocket "$redis_socket" --save "" --appendonly no) >"$work/redis.log" 2>&1 &
redis_pid=$!
trap 'kill -9 $redis_pid 2>/dev/null; wait $redis_pid 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM
for _ in $(seq 1000); do
    [ ! -S "$redis_socket" ] || break
    kill -0 $redis_pid 2>/dev/null || { cat "$work/redis.log"; exit 2; }
    sleep 0.02
done
[ -S "$redis_socket" ] || { echo "redis-server: makes no socket"; exit 2; }
