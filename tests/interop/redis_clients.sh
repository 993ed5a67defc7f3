#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One filter in Redis, layout tamis, used by libtamis-redis and by the clients of docs/examples/redis, which
# were written from docs/REDIS-LAYOUT.md. Each sees the keys that the others added, and all give the same
# answers, including false positives. Then the messages about a filter that is dropped, replaced or damaged.
# Uses those of Python, PHP and Java that are installed.
set -u
# shellcheck source=tests/support/random.bash
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
# shellcheck source=tests/support/redis.bash
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
here=$TAMIS_SOURCE_DIR/tests/interop/redis
export TAMIS_CLIENTS=$TAMIS_SOURCE_DIR/docs/examples/redis

fail() {
    echo "redis_clients: $*"
    exit 1
}

# ---- installed clients -----------------------------------------------------------------------------------

python=
for candidate in python3 /usr/bin/python3; do
    [ -n "$python" ] || ! "$candidate" -c 'import redis, xxhash' 2>/dev/null || python=$candidate
done
jar=${TAMIS_GUAVA_JAR-/usr/share/java/guava.jar}
clients=(c) hashers=(c) # the second: those that read scheme xxh3
[ -z "$python" ] || { clients+=(python) hashers+=(python); }
php -r 'exit(extension_loaded("redis") && PHP_VERSION_ID >= 80100 ? 0 : 1);' 2>/dev/null && clients+=(php) hashers+=(php)
if [ -e "$jar" ] && command -v java >/dev/null && command -v javac >/dev/null; then
    javac -d "$work/java" "$TAMIS_CLIENTS/TamisRedis.java" "$here/RedisOps.java" -cp "$jar" || fail "javac"
    clients+=(java)
fi
echo "clients: ${clients[*]}"
[ "${#clients[@]}" -gt 1 ] || { echo "skipped: neither python3-redis and python3-xxhash, nor php-redis, nor a JDK and Guava"; exit 77; }
for file in TamisRedis.java TamisRedis.php tamis_redis.py; do
    [ "$(wc -l <"$TAMIS_CLIENTS/$file")" -le 100 ] || fail "$file has more than 100 lines"
done

# client WHO NAME add|contains <keys: prints "open", then the answers
client() {
    case $1 in
        c) "$TAMIS_INTEROP_DIR/redis_ops" "redis://127.0.0.1:$redis_port/$2" "$3" ;;
        python) "$python" -B "$here/ops.py" "$redis_port" "$2" "$3" ;;
        php) php "$here/ops.php" "$redis_port" "$2" "$3" ;;
        java) java -XX:TieredStopAtLevel=1 -cp "$jar:$work/java" RedisOps "$redis_port" "$2" "$3" ;;
    esac
}

# ---- the same answers ------------------------------------------------------------------------------------

redis_start
count=$(scaled 2000 5000 100000)
"${python:-python3}" - "$seed" "$count" "$work" <<'END' || fail "no keys"
import random, sys
seed, count, work = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
random.seed(seed)
keys = {b"", b"\0", b"\xff" * 16}
while len(keys) < 2 * count:
    keys.add(random.randbytes(random.choice((random.randrange(1, 40), random.randrange(300)))))
keys = random.sample(sorted(keys), len(keys))
for name, some in ("keys", keys[:count]), ("others", keys[count:]):
    with open(f"{work}/{name}", "w") as file:
        file.writelines(key.hex() + "\n" for key in some)
END

# same_answers NAME: every client gives the answers of the first one, for present and absent keys. All keys of
# "$work/keys" are present.
same_answers() {
    local name=$1 who
    shift
    for who in "$@"; do
        client "$who" "$name" contains <"$work/keys" >"$work/in.$who" || { echo "$who $name: $(tail -n 1 "$work/in.$who")"; return 1; }
        client "$who" "$name" contains <"$work/others" >"$work/out.$who" || return 1
        [ "$(grep -c '^1$' "$work/in.$who")" = "$count" ] || { echo "$who $name: a key that is in is called absent"; return 1; }
        cmp "$work/out.$1" "$work/out.$who" || { echo "$name: $1 and $who answer differently"; return 1; }
    done
}

# shared NAME CLIENT...: each client adds its share, and then every tenth key of all.
shared() {
    local name=$1 who absent=0 nth=0
    shift
    for who in "$@"; do
        awk -v n=$# -v nth=$nth 'NR % n == nth' "$work/keys" | client "$who" "$name" add >"$work/added" ||
            fail "$who $name add: $(tail -n 1 "$work/added")"
        absent=$((absent + $(grep -c '^1$' "$work/added")))
        nth=$((nth + 1))
    done
    for who in "$@"; do
        awk 'NR % 10 == 3' "$work/keys" | client "$who" "$name" add >"$work/added"
        ! grep -q '^1$' "$work/added" || fail "$who $name: calls a key fresh that another added"
    done
    ((absent > count * 3 / 4 && absent <= count)) || fail "$name: $absent of $count keys were absent"
    same_answers "$name" "$@" || exit 1
    local wrong
    wrong=$(grep -c '^1$' "$work/out.$1")
    echo "$name: $* agree; $wrong of $count others are taken for one of $count"
    ((wrong > 0)) || fail "$name: no false positive: nothing was compared but bits that are not set"
}

# Nine probes need a second word of positions. There are several partitions, the last one shorter.
made="expect=$((count / 4))&fpr=0.001&probes=9&partition=$((count / 8 / 64 * 64))"
client c "xxh3?$made&seed=$((seed % 1000000007))&scheme=xxh3" add </dev/null >/dev/null
client c "xxh3_large_seed?$made&seed=18446744073709551557" add </dev/null >/dev/null
client c "guava64?$made&scheme=guava64" add </dev/null >/dev/null
shared xxh3 "${hashers[@]}"
shared xxh3_large_seed "${hashers[@]}"
shared guava64 "${clients[@]}"
keys=$(redis_command keys 'tamis:{guava64:*' | wc -l)
((keys > 3)) || fail "guava64 has $keys partitions"
if [ -n "$python" ]; then
    made_by_python() { "$python" -B "$here/ops.py" "$redis_port" by_python make $((count * 5 / 512 * 512)) 3 guava64; }
    left='tamis:{by_python:00000000c0ffee00:0}:bits'
    # A maker that was killed leaves the names of its partitions, and the next one removes them.
    redis_command set "$left" x >/dev/null
    redis_command hset 'tamis:{by_python}' pushing 'layout=2 bits=512 partition=20 generation=00000000c0ffee00' >/dev/null
    redis_command set 'tamis:{by_python}:push' another PX 200 >/dev/null # for which it waits
    made_by_python || fail "python makes no filter"
    [ "$(redis_command exists "$left")" = 0 ] || fail "python leaves what an earlier maker left"
    # An existing filter stays.
    plan=$(redis_command hget 'tamis:{by_python}' plan)
    made_by_python || fail "python does not find its filter"
    case $plan in 'layout=2 '*) ;; *) fail "python makes: $plan" ;; esac
    [ "$(redis_command hgetall 'tamis:{by_python}')" = "plan
$plan" ] || fail "by_python: $(redis_command hgetall 'tamis:{by_python}')"
    [ "$(redis_command get 'tamis:{by_python}:plan')" = "$plan" ] || fail "python makes no copy of the plan"
    [ "$(redis_command exists 'tamis:{by_python}:push')" = 0 ] || fail "python keeps the lock"
    [ "$(redis_command pttl "tamis:{by_python:${plan##*=}:0}:bits")" = -1 ] || fail "by_python: its partitions expire"
    shared by_python "${clients[@]}"
    # A deleted hash is not taken for a new filter: the keys of the old one would be absent again.
    redis_command del 'tamis:{by_python}' >/dev/null
    made_by_python | grep -q 'deleted or evicted' || fail "python makes a filter beside the partitions of another"
    client c 'by_python?expect=1000&fpr=0.01' add </dev/null | grep -q 'deleted or evicted' || fail "c does so"
    [ "$(redis_command exists 'tamis:{by_python}' 'tamis:{by_python}:push')" = 0 ] || fail "by_python: something was made"
    "$python" -B "$here/late.py" "$redis_port" || fail "python's steps"
fi

# The example of the document is such a filter, and `alice` is in it.
# EVAL STEP means the script in the document.
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$TAMIS_SOURCE_DIR/docs/REDIS-LAYOUT.md" | grep -v '^```'; }
step=$(redis_command script load "$(block lua)")
block redis | sed "s/^EVAL STEP /EVALSHA $step /" | redis_command >"$work/replies"
[ "$(tr '\n' ' ' <"$work/replies")" = "OK 1 1 1 1 1 1 1 1 0 0 0 0 0 " ] || fail "docs/REDIS-LAYOUT.md: $(cat "$work/replies")"
# A repeated step does nothing, whatever was done since.
before=$(redis_command --raw dump 'tamis:{seen}' | od -An -tx1)
block redis | grep '^EVAL' | sed "s/^EVAL STEP /EVALSHA $step /" | redis_command >"$work/replies"
[ "$(tr '\n' ' ' <"$work/replies")" = "0 0 0 0 0 0 0 0 " ] || fail "docs/REDIS-LAYOUT.md, again: $(cat "$work/replies")"
[ "$(redis_command --raw dump 'tamis:{seen}' | od -An -tx1)" = "$before" ] || fail "docs/REDIS-LAYOUT.md: steps that come late change something"
for who in "${hashers[@]}"; do
    [ "$(printf '616c696365\n626f62\n' | client "$who" seen contains | tr '\n' ' ')" = "open 1 0 " ] ||
        fail "docs/REDIS-LAYOUT.md: $who sees another filter than its example makes"
done

# With a locale that writes 0,01 for 0.01, a program makes and reads the same plan.
if localedef -i de_DE -f UTF-8 "$work/de_DE.UTF-8" >/dev/null 2>&1; then
    for made in 'german?expect=1000&fpr=0.01' german; do
        (export LOCPATH=$work LC_ALL=de_DE.UTF-8 && client c "$made" add </dev/null) | grep -qx open || fail "$made in German"
    done
    client c 'german?fpr=0.01' add </dev/null | grep -qx open || fail "what was made in German is not read"
    redis_command hget 'tamis:{german}' plan | grep -q ' fpr=0\.0[01]' || fail "german: $(redis_command hget 'tamis:{german}' plan)"
else
    echo "not seen: another decimal point (no localedef with de_DE)"
fi

# An expired filter is absent, not damaged: its plan expires first, however long its partitions take to be
# made. The copy of the plan expires with it. If the copy stayed, it would mean that the filter was deleted.
expires_first() {
    local partitions first
    mapfile -t partitions < <(redis_command keys "tamis:{$1:*")
    # Times of expiry, not remaining times: time goes on within a script.
    first=$(redis_command eval "local plan, first = redis.call('PEXPIRETIME', KEYS[1]), 0
        for i = 3, #KEYS do if redis.call('PEXPIRETIME', KEYS[i]) < plan then first = first + 1 end end
        local copy = redis.call('PEXPIRETIME', KEYS[2])
        return (plan < 1 or copy < 1 or copy > plan) and 'no expiry, or a later one of the copy' or first" \
        $((${#partitions[@]} + 2)) "tamis:{$1}" "tamis:{$1}:plan" "${partitions[@]}")
    [ "${#partitions[@]}" -gt "$2" ] && [ "$first" = 0 ] || fail "$1: of ${#partitions[@]} partitions go before the plan: $first"
}
client c 'brief?expect=100000&fpr=0.001&partition=1024&ttl=1h&renew=create' add <"$work/keys" >/dev/null
expires_first brief 9
if [ -n "$python" ]; then
    client c 'brief_by_python?expect=10000&fpr=0.001&partition=4096' add </dev/null >/dev/null
    head -n 9 "$work/keys" | "$python" -B "$here/ops.py" "$redis_port" brief_by_python add 3600000 | grep -q '^1$' ||
        fail "python adds nothing with a time to live"
    expires_first brief_by_python 3
fi

# A wrong constant in a client, the one that spreads the second word, must be noticed.
wrong() {
    mkdir -p "$work/wrong"
    cp "$TAMIS_CLIENTS"/* "$work/wrong"
    sed -i "$2" "$work/wrong/$1"
    ! cmp -s "$TAMIS_CLIENTS/$1" "$work/wrong/$1" || fail "$1: no mistake was planted"
}
for who in "${clients[@]}"; do
    case $who in
        python) wrong tamis_redis.py s/0x9E3779B97F4A7C15/0x9E3779B97F4A7C17/ ;;
        php) wrong TamisRedis.php s/61c8864680b583eb/61c8864680b583ed/ ;;
        *) continue ;;
    esac
    (export TAMIS_CLIENTS=$work/wrong && same_answers guava64 c "$who" >/dev/null) && fail "a mistake of $who is not noticed"
done

# ---- findings --------------------------------------------------------------------------------------------

# found WHO NAME TEXT COMMAND...: runs the command between opening and lookup; the client must then print
# TEXT.
found() {
    local who=$1 name=$2 text=$3 line status
    shift 3
    coproc asking { client "$who" "$name" contains 2>&1; }
    local pid=$asking_PID
    exec 7<&"${asking[0]}" 8>&"${asking[1]}" # the array goes when the client ends
    read -r line <&7
    [ "$line" = open ] || fail "$who $name: $line"
    "$@" >/dev/null || fail "$*"
    head -n 100 "$work/keys" >&8
    exec 8>&-
    eval "exec ${asking[1]-9}>&-" # its other end
    line=$(cat <&7)
    exec 7<&-
    wait "$pid" 2>/dev/null
    status=$?
    ! grep -qx '[01]' <<<"$line" || fail "$who $name: after $*: answers nevertheless"
    grep -qiE "$text" <<<"$line" || fail "$who $name: after $*: status $status, not '$text' but: $line"
}
make_small() {
    redis_command del 'tamis:{small}' 'tamis:{small}:plan' ${bits:+"$bits"} >/dev/null
    client c "small?expect=1000&fpr=0.01&scheme=guava64" add <"$work/keys" >/dev/null
    generation=$(redis_command hget 'tamis:{small}' plan | sed 's/.*generation=//')
    bits="tamis:{small:$generation:0}:bits"
}
# make_old STATE: makes the filter as a program of layout 1 left it. GENERATION in STATE is its generation.
make_old() {
    make_small
    state=${1/GENERATION/$generation}
    redis_command hset 'tamis:{small}' plan "$(redis_command hget 'tamis:{small}' plan | sed s/layout=2/layout=1/)" state "$state" >/dev/null
    redis_command del 'tamis:{small}:plan' >/dev/null
}
# The partition is gone, and the client may not check that: then all answers are unknown.
blind() {
    redis_command del "$bits" && redis_command acl setuser default -hget -hmget
}
for who in "${clients[@]}"; do
    make_small && found "$who" small 'noperm|permission|may not' blind
    redis_command acl setuser default +hget +hmget >/dev/null
    make_small && found "$who" small damaged\|gone redis_command del "$bits"
    make_small && found "$who" small damaged\|gone redis_command set "$bits" x
    make_small && found "$who" small 'dropped|deleted' redis_command del 'tamis:{small}'
    make_small && found "$who" small 'dropped|deleted' redis_command del 'tamis:{small}' "$bits"
    make_small && found "$who" small 'replaced|no plan|not a plan' redis_command hset 'tamis:{small}' plan "layout=1 kind=blocked"
    # A client that cannot add to the new filter of a resize too refuses to add.
    if [ "$who" != c ]; then
        make_small
        redis_command hset 'tamis:{small}' next x >/dev/null
        client "$who" small add <"$work/keys" 2>&1 | grep -q resized || fail "$who: adds beside a resize"
        client "$who" small contains <"$work/keys" >/dev/null || fail "$who: does not ask beside a resize"
    fi
    # A filter of layout 1 is read, and added to.
    make_old 'ready GENERATION'
    client "$who" small contains <"$work/keys" | grep -q '^0$' && fail "$who: a key of a filter of layout 1 is absent"
    head -n 99 "$work/others" >"$work/some"
    client "$who" small add <"$work/some" | grep -q '^1$' || fail "$who: does not add to a filter of layout 1"
    client c small contains <"$work/some" | grep -q '^0$' && fail "$who: adds to a filter of layout 1 are lost"
    # Its maker was stopped, or is slow: nobody finishes it, since nobody knows which of its partitions were
    # lost.
    for made in '' 'ready 0000000000000000' ready; do
        make_old "$made"
        redis_command del "$bits" >/dev/null
        head -n 9 "$work/keys" | client "$who" small add | grep -q 'of layout 1' || fail "$who: opens what is not ready"
        head -n 9 "$work/keys" | client "$who" small contains | grep -q 'of layout 1' || fail "$who: reads what is not ready"
        [ "$(redis_command exists "$bits")$(redis_command hget 'tamis:{small}' state)" = "0$state" ] || fail "$who: finishes what another began"
    done
    # What none of them may read.
    for change in s/layout=2/layout=3/ s/blocked/classic/ s/blocked/family/ s/guava64/bkdr31/ s/probes=[0-9]*/probes=256/ s/partition=/partition=99999/; do
        make_small
        redis_command hset 'tamis:{small}' plan "$(redis_command hget 'tamis:{small}' plan | sed "$change")" >/dev/null
        client "$who" small contains <"$work/keys" >"$work/refused" 2>&1 && fail "$who reads a plan after $change"
        ! grep -q ^open "$work/refused" || fail "$who opens a plan after $change"
    done
    # A partition of layout 2 has room behind its footer: its blocks may be three fewer than in layout 1.
    make_small
    redis_command hset 'tamis:{small}' plan "$(redis_command hget 'tamis:{small}' plan | sed 's/partition=[0-9]*/partition=8388605/')" >/dev/null
    if client "$who" small contains </dev/null | grep -q ^open; then fail "$who: opens a partition that is too large"; fi
    client "$who" none contains </dev/null | grep -q 'there is no such filter' || fail "$who: a filter that is not there"
    client "$who" '{no' contains </dev/null >/dev/null && fail "$who: takes a name with a brace"
done
exit 0
