# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # consumer.sh sets work
# Sourced by consumer.sh. check_examples DIR tests the programs of docs/examples/, which were built in DIR.

printf 'b\na\nb\n\na\n\nlast' >"$work/lines"
awk '!seen[$0]++' "$work/lines" >"$work/unique"
seq 100000 | sed p >"$work/many" # exceeds a batch and a buffer
seq 100000 >"$work/many_unique"
printf 'mallory\neve\n' >"$work/blocked"
# Known good senders, each twice, in mixed case. One of them is blocked nevertheless.
{ seq -f 'Friend%.0f@example.org' 100000 && echo SPAM7@example.com; } | sed p >"$work/good"

# says STATUS TEXT COMMAND...: the command must exit with that status, and its last line must contain the
# text.
says() {
    local expected=$1 text=$2 status=0
    shift 2
    "$@" </dev/null >"$work/out" 2>&1 || status=$?
    [ "$status" = "$expected" ] || fail "$1: status $status, not $expected: $(cat "$work/out")"
    tail -n 1 "$work/out" | grep -qF "$text" || fail "$1: not '$text': $(cat "$work/out")"
}

check_dedup() {
    "$1/dedup" <"$work/lines" | cmp - "$work/unique" || fail "$1/dedup: wrong lines"
    "$1/dedup" <"$work/many" | cmp - "$work/many_unique" || fail "$1/dedup: wrong lines of many"
    # The last line has no newline, in the output too.
    "$1/dedup_stream" "$work/lines" 2>"$work/err" | cmp - <(head -c -1 "$work/unique") ||
        fail "$1/dedup_stream: wrong lines"
    [ "$(cat "$work/err")" = "4 of 7 lines" ] || fail "$1/dedup_stream said: $(cat "$work/err")"
}

# A run that is killed repeatedly ends with the output of a run that was not.
check_once() {
    local program=$1/once kills=0 pid
    rm -rf "$work/state" "$work/once"
    while :; do
        "$program" "$work/state" "$work/many" "$work/once" &
        pid=$!
        sleep "0.0$((RANDOM % 5))"
        kill -KILL $pid 2>/dev/null || true
        ! wait $pid 2>/dev/null || break
        kills=$((kills + 1))
        [ $kills -lt 20 ] || { "$program" "$work/state" "$work/many" "$work/once" && break; }
    done
    cmp "$work/once" "$work/many_unique" || fail "$program: wrong lines after $kills kills"
    "$program" "$work/state" "$work/many" "$work/once"
    cmp "$work/once" "$work/many_unique" || fail "$program: wrong lines once more"
    says 2 "once: usage" "$program"
}

check_share_with_guava() {
    [ "$(printf 'alice\neve\nmallory\n' | "$1/share_with_guava" "$work/blocked" | tr -s ' \n' ' ')" = \
        "no alice perhaps eve perhaps mallory " ] || fail "$1/share_with_guava: wrong answers"
    says 2 "share_with_guava: $work/absent: cannot be read" "$1/share_with_guava" "$work/absent"
}

# check_share_redis DIR: runs the program twice with a private Redis, if redis-server is installed.
check_share_redis() {
    local program=$1/share_redis uri
    says 2 "share_redis: redis+unix://$work/none: " "$program" "redis+unix://$work/none"
    command -v redis-server >/dev/null && command -v redis-cli >/dev/null || return 0
    if [ -z "$redis_pid" ]; then
        redis-server --port 0 --unixsocket "$work/redis.sock" --save "" --dir "$work" >"$work/redis.log" 2>&1 &
        redis_pid=$!
        until redis-cli -s "$work/redis.sock" ping >/dev/null 2>&1; do
            kill -0 "$redis_pid" || fail "redis-server: $(cat "$work/redis.log")"
            sleep 0.05
        done
    fi
    redis-cli -s "$work/redis.sock" flushall >/dev/null
    uri="redis+unix://$(sed 's,/,%2F,g' <<<"$work/redis.sock")/seen"
    says 2 "there is no such filter" "$program" "$uri"
    "$program" "$uri?expect=200000&fpr=1e-9" <"$work/lines" | cmp - "$work/unique" || fail "$program: wrong lines"
    { cat "$work/lines" && echo && cat "$work/many"; } | "$program" "$uri" | cmp - "$work/many_unique" ||
        fail "$program: wrong lines the second time"
}

# check_spam_filter DIR COUNT: COUNT addresses must be blocked.
check_spam_filter() {
    local program=$1/spam_filter list=$work/list filter=$work/spam.tamis allow=$work/allow rescued
    seq "$2" | sed 's/.*/spam&@example.com/' >"$list"
    "$program" build "$list" "$work/good" "$filter" "$allow" || fail "$program build failed"
    "$program" check "$filter" "$allow" <"$list" | cut -f 1 | uniq -c | tr -d ' ' >"$work/out"
    [ "$(cat "$work/out")" = "$2blocked" ] || fail "$program: of $2 blocked: $(cat "$work/out")"

    # 10 of 100,000 are expected, and 5 standard deviations are 16.
    rescued=$(wc -l <"$allow")
    ((rescued >= 1 && rescued <= 26)) || fail "$program: $rescued to be rescued"
    "$program" check "$filter" "$allow" <"$work/good" >"$work/out"
    [ "$(wc -l <"$work/out")" = 200002 ] || fail "$program: not an answer for each"
    [ "$(grep ^blocked "$work/out" | uniq)" = $'blocked\tspam7@example.com' ] || fail "$program: good ones are blocked"
    sed -n 's/^rescued\t//p' "$work/out" | LC_ALL=C sort -u | cmp - "$allow" || fail "$program: others are rescued"
    "$program" check "$filter" /dev/null <"$work/good" >"$work/out"
    [ "$(grep -c ^blocked "$work/out")" = $((2 * rescued + 2)) ] || fail "$program: rescued without the list"

    says 2 "spam_filter: $list: is not a filter" "$program" check "$list" "$allow"
    says 2 "spam_filter: $work/absent: cannot be read" "$program" build "$work/absent" "$work/good" "$filter" "$allow"
    rm "$list"
}

check_crawler() {
    local program=$1/crawler urls=$work/seen crawler
    rm -f "$urls" "$work/pipe"
    printf 'http://a/\nhttp://a/#top\n\nhttp://b/\n' | "$program" "$urls" | cmp - <(printf 'http://a/\nhttp://b/\n') ||
        fail "$program: wrong URLs"
    printf 'http://b/\nhttp://c/' | "$program" "$urls" | cmp - <(echo http://c/) || fail "$program: wrong URLs, later"

    # Kills a crawler that has handed out URLs and not saved its file. Until then no other one may start.
    mkfifo "$work/pipe"
    "$program" "$urls" <"$work/pipe" >"$work/crawled" &
    crawler=$!
    exec 9>"$work/pipe"
    cat "$work/many_unique" >&9 || fail "$program ended early" # after so many URLs the crawler is running
    says 2 "process $crawler" "$program" "$urls"
    kill -KILL $crawler
    wait $crawler 2>/dev/null || true
    exec 9>&-
    [ -s "$work/crawled" ] || fail "$program printed nothing"
    { echo http://c/ && cat "$work/many"; } | "$program" "$urls" | cmp - "$work/many_unique" ||
        fail "$program: wrong URLs after a crash"
    "$program" "$urls" <"$work/many" | cmp - /dev/null || fail "$program: URLs twice"

    says 2 "crawler: $work/lines: is not a filter" "$program" "$work/lines"
    [ -z "$(find "$work" -maxdepth 1 -name '.*.tamis-*')" ] || fail "$program leaves its lock behind"
}

# check_ten_million DIR COUNT BITS
check_ten_million() {
    says 0 "as promised" "$1/ten_million" "$2"
    [ "$(head -n 2 "$work/out")" = "$2 integers in $3 bits, 5 hash functions"$'\nforgotten: 0' ] ||
        fail "$1/ten_million: $(cat "$work/out")"
    says 2 "ten_million: guava: a rate of 2 " "$1/ten_million" 1000 2
}

check_audit() {
    says 0 "promised 0.001" "$1/audit" "$work/many"
    grep -q '^0 of 200000 lines missing$' "$work/out" || fail "$1/audit: $(cat "$work/out")"
    # The estimate has a standard error of 0.41 %; here five of them.
    awk 'NR == 1 { exit !($2 > 97900 && $2 < 102100) }' "$work/out" || fail "$1/audit: $(cat "$work/out")"
    says 2 "audit: give a FILE that can be read" "$1/audit" "$work/absent"
}

check_examples() {
    check_dedup "$1"
    check_share_with_guava "$1"
    check_share_redis "$1"
    check_spam_filter "$1" 20000
    check_once "$1"
    check_crawler "$1"
    check_ten_million "$1" 100000 729856
    check_audit "$1"
}
