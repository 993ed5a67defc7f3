# SPDX-License-Identifier: BSD-2-Clause
# Private servers of `tamis serve` for scripts. Source it after random.bash; the script has a function `fail`. Without
# python3-redis, redis-cli or `tamis serve` the script exits with 77: skipped.
#
#     serve_start    serves $work/serve.yaml, whose port is 0, with its log in $work/log; sets $server and $port
#     serve_stop     ends the server in order
#     same A B WHAT  fails unless A is B
#
# Sets $tamis, $python (one with the client redis-py) and $here, the directory of the Python programs.
# shellcheck disable=SC2034
tamis=$TAMIS_BUILD_DIR/bin/tamis
here=$TAMIS_SOURCE_DIR/tests/interop/serve
server=

python=
for candidate in python3 /usr/bin/python3; do
    [ -n "$python" ] || ! "$candidate" -c 'import redis' 2>/dev/null || python=$candidate
done
[ -n "$python" ] && command -v redis-cli >/dev/null || { echo "skipped: needs python3-redis and redis-cli"; exit 77; }
"$tamis" serve --check "$TAMIS_SOURCE_DIR/docs/examples/guard/demo.yaml" >/dev/null ||
    { echo "skipped: tamis was built without serve"; exit 77; }

serve_start() {
    rm -f "$work/log" # the child makes it, perhaps after the first look
    "$tamis" serve "$work/serve.yaml" 2>"$work/log" &
    server=$!
    local tries=0
    until grep -qs 'serving at' "$work/log" && [ "$(wc -l <"$work/log")" -gt 0 ]; do # the whole line
        sleep 0.05
        [ $((tries++)) -lt 400 ] || fail "does not start: $(cat "$work/log")"
    done
    port=$(sed -n 's/.*serving at 127.0.0.1:\([0-9]*\).*/\1/p' "$work/log")
}
serve_stop() {
    kill -TERM "$server"
    wait "$server" || fail "status $? at the end: $(cat "$work/log")"
    server=
}
same() { [ "$1" = "$2" ] || fail "$3: '$1' instead of '$2'"; }
