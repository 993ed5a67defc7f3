#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Layout java, compared with Guava in a JVM and a Java client of Redis, which `./dev peers` fetches: the
# published example, and random repeated keys, in both directions. Each sees what the other wrote, gives the
# same answers, and leaves the same bits and the same expiry.
# ctest: peers
set -u
peers=${TAMIS_PEERS_DIR-$TAMIS_SOURCE_DIR/build/peers}
set -- "$peers"/{guava,failureaccess,jedis,commons-pool2,slf4j-api}.jar
for jar in "$@"; do
    [ -e "$jar" ] || { echo "skipped: no $jar"; exit 77; }
done
command -v java >/dev/null && command -v javac >/dev/null || { echo "skipped: no JDK"; exit 77; }
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
tamis=$TAMIS_BUILD_DIR/bin/tamis
classpath=$(IFS=: && echo "$*"):$work
javac -cp "$classpath" -d "$work" "$TAMIS_SOURCE_DIR/tests/interop/redis/JavaLayout.java" || exit 2
die() { echo "$*"; exit 1; }
export LC_ALL=C

# theirs NAME add|ask, and ours, with the parameters $n, $p and $ttl: print the lines that were present.
theirs() {
    java -cp "$classpath" JavaLayout "$redis_port" "$1" "$n" "$p" "$ttl" "$2" 2>"$work/stderr" ||
        { cat "$work/stderr" >&2; kill $$; }
}
ours() {
    local -a verb=(check)
    [ "$2" = ask ] || verb=(add --allow-over-capacity --print seen) # the Java way knows no end
    "$tamis" "${verb[@]}" "$redis_uri/$1?layout=java&expect=$n&fpr=$p&ttl=${ttl}s"
    [ $? -le 1 ] || kill $$
}
same_bits() {
    redis_command get "bf:$1" | cmp - <(redis_command get "bf:$2") || die "$3: bits differ"
    local left
    for name in "$1" "$2"; do
        left=$(redis_command ttl "bf:$name")
        ((left > ttl - 300 && left <= ttl)) || die "$3: $name expires in $left s"
    done
}

# ---- the published example: either side writes it, both look it up
n=3000 p=0.03 ttl=3600 name=topic_read:8839540:20190609
for writer in theirs ours; do
    redis_command flushall >/dev/null
    [ -z "$(seq 76930242 76930246 | $writer $name add)" ] || die "$writer: not fresh"
    for reader in theirs ours; do
        [ "$(seq 76930242 2 76930248 | $reader $name ask | tr '\n' ' ')" = "76930242 76930244 76930246 " ] ||
            die "$reader does not see what $writer wrote"
    done
    redis_command get "bf:$name" >"$work/bits.$writer"
    [ "$(redis_command keys '*')" = "bf:$name" ] || die "$writer: $(redis_command keys '*')"
done
cmp "$work/bits.theirs" "$work/bits.ours" || die "the published run: bits differ"

# ---- random keys beyond the capacity, so that there are false positives
count=$(scaled 2000 5000 50000) n=$((count / 2)) ttl=7200
python3 - "$seed" "$count" "$work" <<'PYTHON' || exit 2
import random, sys
seed, count, work = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
random.seed(seed)
signs = [chr(c) for c in range(0x20, 0x7f)] + list("äßéЖ日本語😀")
def text():
    return "".join(random.choice(signs) for _ in range(random.randrange(8, 40)))
keys = [text() for _ in range(count)]
for name, chosen in (("keys", [random.choice(keys) for _ in range(count)]),
                     ("others", [random.choice((random.choice(keys), text())) for _ in range(count)])):
    with open(f"{work}/{name}", "w", encoding="utf-8") as out:
        out.write("".join(key + "\n" for key in chosen))
PYTHON
for p in 0.03 0.0001; do
    theirs java.$p add <"$work/keys" >"$work/java.added"
    ours tamis.$p add <"$work/keys" | cmp - "$work/java.added" || die "$p: answers to adds differ"
    # Each side adds the present keys to the other's filter. A filter without an expiry then has one.
    redis_command persist bf:java.$p >/dev/null
    redis_command persist bf:tamis.$p >/dev/null
    ours java.$p add <"$work/keys" | cmp - "$work/keys" || die "$p: we do not see what they wrote"
    theirs tamis.$p add <"$work/keys" | cmp - "$work/keys" || die "$p: they do not see what we wrote"
    same_bits java.$p tamis.$p "$p"
    theirs tamis.$p ask <"$work/others" >"$work/java.asked"
    ours java.$p ask <"$work/others" | cmp - "$work/java.asked" || die "$p: answers to questions differ"
    absent=$((count - $(wc -l <"$work/java.asked")))
    wrong=$(sort -u "$work/java.asked" | comm -23 - <(sort -u "$work/keys") | wc -l)
    echo "p = $p: alike for $count keys, $absent absent and $wrong wrongly present"
    ((absent > 0)) || die "$p: no key is absent"
    [ $p != 0.03 ] || ((wrong > 0)) || die "nothing was compared but bits that are not set"
done
# Bits made with other parameters must be noticed.
p=0.02
theirs tamis.0.03 ask <"$work/keys" | cmp -s - "$work/keys" && die "a mistake is not noticed"
exit 0
