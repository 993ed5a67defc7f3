#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# tamis serve with a filter from a file: versions by tamis build, damaged and old files, keys of GUARD.ADD.
set -u
# shellcheck source=tests/support/random.bash
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
guard=$TAMIS_SOURCE_DIR/docs/examples/guard

fail() {
    echo "serve_file: $*"
    exit 1
}
trap '[ -z "$server" ] || kill -KILL "$server" 2>/dev/null; rm -rf "$work"' EXIT

# shellcheck source=tests/support/serve.bash
. "$TAMIS_SOURCE_DIR/tests/support/serve.bash"

# start LINE...: serves the rows item:1 to item:1000, with these lines in the keyspace
start() {
    {
        printf '%s\n' "listen: 127.0.0.1:0" "metrics: 127.0.0.1:0" "database:" "  sqlite: memory" \
            "  init: $guard/demo.sql" "keyspaces:" "  - keys: \"item:*\"" \
            "    row: SELECT value FROM items WHERE id = ?1" "    rescan_new: 50ms"
        printf '    %s\n' "$@"
    } >"$work/serve.yaml"
    serve_start
    metrics=$(sed -n 's|.*\(http://[^ ]*/metrics\).*|\1|p' "$work/log")
}
get() { redis-cli -p "$port" GET "item:$1"; }
metric() {
    "$python" -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())' "$metrics" |
        sed -n "s/^tamis_guard_$1{.*} //p"
}
wait_for() { # wait_for TEXT: until the log has a line with it
    local tries=0
    until grep -qF "$1" "$work/log"; do
        sleep 0.05
        [ $((tries++)) -lt 400 ] || fail "no line '$1' in: $(cat "$work/log")"
    done
}
build() { # build KEYS VERSION: a filter of 1 to KEYS, which replaces the one in use
    seq "$1" | "$tamis" build -o "$work/next.tamis" --data-version "$2" - || fail "build"
    mv "$work/next.tamis" "$work/f.tamis"
}

# ---- a filter ----------------------------------------------------------------------------------------------

start "filter_file: f.tamis" "without_filter: closed"
wait_for "filter_file cannot be used; $work/f.tamis: no such file or directory"
[[ $(get 5) = LOADING* ]] || fail "without a file: $(get 5)"
build 900 1
wait_for "keyspace 'item:*': the filter has 900 keys, version 1"
same "$(get 900)" "item number 900" "a row"
same "$(get 950)" "" "a row that the file does not have"
same "$(get 1001)" "" "no row"
build 1000 2
wait_for "keyspace 'item:*': the filter has 1000 keys, version 2"
same "$(get 950)" "item number 950" "a row of the next version"
same "$(metric filter_version)" 2 "the metric of the version"
failed=$(metric failed_scans_total)

seq 500 | "$tamis" build -o "$work/whole" --data-version 3 - || fail "build"
head -c "$(($(stat -c %s "$work/whole") * (seed % 98 + 1) / 100))" "$work/whole" >"$work/torn"
mv "$work/torn" "$work/f.tamis"
wait_for "it is tried again, and the former filter stays"
[ "$(metric failed_scans_total)" -gt "$failed" ] || fail "the metric of failures is $(metric failed_scans_total)"
build 500 1
wait_for "has version 1, older than version 2 in use; give it a higher version"
rm "$work/f.tamis"
tries=0
until [ "$(grep -c 'no such file or directory' "$work/log")" = 2 ]; do
    sleep 0.1
    [ $((tries++)) -lt 200 ] || fail "a missing file: $(cat "$work/log")"
done
for key in 1 501 1000; do same "$(get "$key")" "item number $key" "a row of the former filter"; done
loads=$(metric loads_total)
for key in $(seq 2001 2100); do printf 'GET item:%s\n' "$key"; done | redis-cli -p "$port" >/dev/null
[ "$(metric loads_total)" -le $((loads + 2)) ] || fail "the filter lets keys through"
same "$(metric filter_version)" 2 "the metric of the version"
same "$(grep -c 'cannot be used' "$work/log")" 4 "lines about bad files"

# a key of GUARD.ADD is in each later filter until its file has the key
same "$(printf '%s\n' 'GUARD.ADD item:777' 'DEL item:777' | redis-cli -p "$port")" $'OK\n1' "GUARD.ADD"
build 500 3
wait_for "the filter has 501 keys, version 3"
build 600 4
wait_for "the filter has 601 keys, version 4"
same "$(get 777)" "item number 777" "a key of GUARD.ADD"
same "$(get 778)" "" "a row that the file does not have"
serve_stop

# ---- a list, and a secret ------------------------------------------------------------------------------------

seq 800 >"$work/keys"
start "keys_file: keys"
wait_for "keyspace 'item:*': the filter has 800 keys"
same "$(get 800)" "item number 800" "a row"
same "$(get 801)" "" "a row that the list does not have"
printf '801\n802' >"$work/next"
mv "$work/next" "$work/keys"
wait_for "keys_file cannot be used; $work/keys: its last line has no end"
same "$(get 800)" "item number 800" "a row"
serve_stop

head -c 32 /dev/urandom >"$work/secret"
seq 700 | "$tamis" build -o "$work/f.tamis" --secret-file "$work/secret" - || fail "build"
start "filter_file: f.tamis"
wait_for "filter_file cannot be used"
same "$(get 701)" "item number 701" "a row without a filter"
serve_stop
start "filter_file: f.tamis" "secret_file: secret"
wait_for "keyspace 'item:*': the filter has 700 keys"
same "$(get 700)" "item number 700" "a row"
same "$(get 701)" "" "a row that the file does not have"
serve_stop
# ---- a filter in a Redis, copied while others add to it ------------------------------------------------------

if command -v redis-server >/dev/null; then
    # shellcheck source=tests/support/redis.bash
    . "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
    redis_start
    seq 500 | "$tamis" build -o "$redis_uri/ids?expect=2000" - || fail "build in a Redis"
    "$tamis" copy -o "$work/f.tamis" "$redis_uri/ids" || fail "copy"
    start "filter_file: f.tamis"
    wait_for "keyspace 'item:*': the filter has "
    same "$(get 500)" "item number 500" "a row"
    same "$(get 501)" "" "a row that the filter in the Redis does not have"
    seq 501 600 | "$tamis" add "$redis_uri/ids" - || fail "add"
    "$tamis" copy -o "$work/f.tamis" "$redis_uri/ids" || fail "copy"
    tries=0
    until [ "$(get 600)" = "item number 600" ]; do
        sleep 0.05
        [ $((tries++)) -lt 200 ] || fail "the next copy is not used: $(cat "$work/log")"
    done
    same "$(get 601)" "" "a row that the filter in the Redis does not have"
    serve_stop
else
    echo "not run: a filter in a Redis, for want of redis-server"
fi
echo "serve_file: ok"
