#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Layout redisson beside a second implementation in Python, written from Redisson's Java and the definition of its hash: one
# makes the filter and the other reads it, the answers are the same, and so are config hash and bits.
set -u
for python in python3 /usr/bin/python3 ''; do
    [ -n "$python" ] && "$python" -c 'import redis, xxhash' 2>/dev/null && break
done
[ -n "$python" ] || { echo "skipped: no python3 with redis and xxhash (python3-redis, python3-xxhash)"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
ours=$TAMIS_INTEROP_DIR/redis_filter
die() { echo "$*"; exit 1; }
peer() { "$python" "$TAMIS_SOURCE_DIR/tests/interop/redisson.py" "$redis_socket" "$@" || exit 1; }

# keys COUNT DIFFERENT RANDOM: keys of 0 to 70 bytes, any, which come again
keys() {
    "$python" -c '
import random, sys
count, different, extra, seed = map(int, sys.argv[1:])
random.seed(seed)
keys = [random.randbytes(random.randrange(71)).hex() for _ in range(different)]
random.seed(seed + extra)
print("\n".join(random.choice(keys) for _ in range(count)))' "$@" "$seed"
}
keys "$(scaled 500 3000 30000)" 700 1 >"$work/keys"
keys "$(scaled 300 1000 10000)" 900 2 >"$work/others" # the same 700 and others

# both NAME N P: the name as a URI has it and as it is are the same but for braces
both() {
    local name=$1 uri shown="$1 $2 $3"
    uri=${name//\{/%7B}
    uri="$redis_uri/${uri//\}/%7D}?layout=redisson"
    # Theirs first, and then ours in its place.
    [ "$(peer "$name" init "$2" "$3")" = 1 ] || die "$shown: not made"
    peer "$name" add <"$work/keys" >"$work/theirs"
    "$ours" ask "$uri" <"$work/others" >"$work/asked" || exit 1
    peer "$name" ask <"$work/others" | cmp - "$work/asked" || die "$shown: answers to questions differ"
    [ "$(sort -u "$work/asked" | tr -d '\n')" = 01 ] || die "$shown: no two answers"
    peer "$name" dump >"$work/dump"
    "$ours" make "$uri&expect=$2&fpr=$3" </dev/null || die "$shown: does not take what agrees"
    [ "$(peer "$name" delete)" = 2 ] || die "$shown: not two keys"
    "$ours" ask "$uri" </dev/null 2>/dev/null && die "$shown: is still there"
    "$ours" make "$uri&expect=$2&fpr=$3" <"$work/keys" | cmp - "$work/theirs" || die "$shown: answers to adds differ"
    peer "$name" dump | cmp - "$work/dump" || die "$shown: config or bits differ"
    peer "$name" ask <"$work/others" | cmp - "$work/asked" || die "$shown: they do not see what we wrote"
    # Each on top of the other.
    peer "$name" add <"$work/others" >"$work/theirs"
    [ "$("$ours" add "$uri" <"$work/others" | sort -u)" = 1 ] || die "$shown: we do not see what they added"
    [ "$(peer "$name" init 5 0.5)" = 0 ] || die "$shown: made anew"
}
both seen 1000 0.01
both seen2 700 0.0001
both 'seen{today}' 123457 1e-06
both few 500 0.4
# Bits of another filter must not pass.
peer seen dump | cmp -s - "$work/dump" && die "a mistake is not noticed"
exit 0
