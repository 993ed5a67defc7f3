# SPDX-License-Identifier: BSD-2-Clause
# Filters of RedisBloom and of the Redis module on a server, in its RDB file and in DUMPs: looked up, described,
# audited, copied and sent back. Values of other types come before them in the file.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
module=$TAMIS_BUILD_DIR/module/tamis.so
[ -e "$module" ] || {
    echo "needs module/tamis.so"
    exit 77
}
redis_start --loadmodule "$module"
shown() { sed -E "s|127.0.0.1:$redis_port|SERVER|g; s|$redis_dir|DIR|g; s/for example KEY .*/for example KEY NAME/"; }
try() { "$@" 2>&1 | shown; echo "status ${PIPESTATUS[0]}"; }
seq 1000 > in
seq 1001 21000 > out
long=$(printf 'k%.0s' {1..60})
{
    echo SET text hello
    echo SET number 12345
    echo RPUSH list $(seq 300)
    echo SADD numbers 1 2 3
    echo SADD words a b c
    echo ZADD sorted 1.5 a 2 b
    echo HSET hash a 1 b 2
    echo HSET large $(seq 2000)
    echo XADD stream 1-1 a 1
    echo XADD stream 2-1 b 2
    echo XGROUP CREATE stream group 0
    echo XREADGROUP GROUP group reader COUNT 1 STREAMS stream '>'
    echo SET expiring x PX 100000000
    echo SETBIT bits 100000 1
    echo BF.RESERVE fixed 0.001 1000 NONSCALING
    echo CF.RESERVE cuckoo 2000
    echo BF.RESERVE $long 0.01 100
    sed 's/^/BF.ADD seen /; p; s/seen/fixed/; p; s/BF.ADD fixed/CF.ADD cuckoo/' in
    sed "s/^/BF.ADD $long /" in
} | redis_command > replies
grep -v '^[0-9]' replies | sort | uniq -c | sed 's/^ *//' | grep -i err
redis_command save > /dev/null
rdb=$redis_dir/dump.rdb

echo "# on the server"
for name in seen fixed cuckoo $long; do
    tamis check -c "$redis_uri/$name" in
    tamis check -v "$redis_uri/$name" in
    [ "$(tamis check -c "$redis_uri/$name" out)" -lt 2500 ] || echo "too many"
done
tamis info "$redis_uri/seen" "$redis_uri/fixed" "$redis_uri/cuckoo" | shown
tamis info --json "$redis_uri/seen" |
    python3 -c 'import json, sys; o = json.load(sys.stdin); print(*(o[m] for m in ("format", "kind", "scheme", "capacity", "fpr", "subfilters", "expansion", "added", "keys")))'
tamis info --json "$redis_uri/cuckoo" |
    python3 -c 'import json, sys; o = json.load(sys.stdin); print(*(o[m] for m in ("format", "kind", "capacity", "fpr", "subfilters", "expansion", "added")))'
tamis audit --json "$redis_uri/seen" in |
    python3 -c 'import json, sys; o = json.load(sys.stdin); print(o["verdict"], o["keys"], o["missing"])'
echo "# in the RDB file"
for name in seen fixed cuckoo $long; do
    tamis check -c "$rdb#$name" in
    tamis copy -o "$name.rdb.dump" "$rdb#$name"
    tamis copy -o "$name.dump" "$redis_uri/$name"
    cmp "$name.rdb.dump" "$name.dump"
    tamis check -c "$name.dump" in
done
tamis verify seen.dump "$rdb#seen" | shown
gzip < "$rdb" > dump.rdb.gz
tamis check -c dump.rdb.gz#seen in
tamis copy --gzip -o seen.gz seen.dump && tamis check -c seen.gz in
echo "# back to a server"
for name in seen fixed cuckoo; do
    redis_command -x restore "$name.again" 0 < "$name.dump"
    tamis copy -o again.dump "$redis_uri/$name.again" && cmp again.dump "$name.dump"
done
redis_command bf.add seen.again 1
redis_command bf.card seen.again
redis_command cf.count cuckoo.again 7
echo "# refused"
try tamis add "$redis_uri/seen" in
try tamis add seen.dump in
try tamis add "$rdb#seen" in
try tamis remove cuckoo.dump in
try tamis merge -o m.tamis seen.dump fixed.dump
try tamis copy -o m.tamis --format tamis seen.dump
try tamis copy -o "$redis_uri/new" seen.dump
try tamis copy -o m.dump --label a=b seen.dump
try tamis clear seen.dump
try tamis check -c "$rdb" in
try tamis check -c "$rdb#none" in
try tamis check -c "$rdb#text" in
try tamis check -c "$redis_uri/text" in
try tamis check -c seen.dump#seen in
head -c 1000 "$rdb" > cut.rdb
try tamis check -c cut.rdb#seen in
echo "# keys of the Redis module's own types"
{
    echo BF.RESERVE fast 0.01 1000 KIND fast
    echo TW.RESERVE window 0.01 1000 3600000 10
    sed 's/^/BF.ADD fast /; p; s/BF.ADD fast/TW.ADD window/' in
    echo SAVE
} | redis_command | sort | uniq -c | sed 's/^ *//'
for name in fast window; do
    tamis check -c "$redis_uri/$name" in
    tamis check -c "$rdb#$name" in
    [ "$(tamis check -c "$redis_uri/$name" out)" -lt 250 ] || echo "too many"
    tamis copy -o $name.tamis "$redis_uri/$name"
    tamis diff "$rdb#$name" $name.tamis | shown
done
tamis info "$redis_uri/fast" "$redis_uri/window" | shown | sed 's/at [0-9]* ms/at TIME ms/'
tamis audit --json "$redis_uri/fast" in |
    python3 -c 'import json, sys; o = json.load(sys.stdin); print(o["verdict"], o["keys"], o["missing"])'
tamis merge -o merged.tamis "$redis_uri/fast" "$rdb#fast"
tamis check -c merged.tamis in
try tamis add "$redis_uri/fast" in
try tamis add "$rdb#window" in
try tamis clear merged.tamis "$redis_uri/fast"
try tamis copy -o fast.dump --format redisbloom "$redis_uri/fast"
ls
