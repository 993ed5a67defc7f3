# SPDX-License-Identifier: BSD-2-Clause
# Dropping or expiring a family affects its members, and nothing else. A missing one of several names does
# not prevent the others.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
shown() { sed -E "s|127.0.0.1:$redis_port|SERVER|g; s|clerk:secret@||g"; }
count() { redis_command keys "$1" | grep -c .; }
seq 3000 | sed 's/.*/&\t&/' > records
add() { tamis add "$redis_uri/$1:{1}?expect=10&fpr=0.01" records; }
add a
add b
tamis add "$redis_uri/a:7?expect=10" <(seq 5)
tamis redis expire "$redis_uri/a:*" 1h
for name in a:1 a:3000 b:1; do
    ttl=$(redis_command pttl "$(redis_command keys "tamis:{$name:*")")
    [ "$ttl" -gt 3500000 ] && echo "$name expires" || echo "$name: $ttl"
done
tamis redis expire "$redis_uri/a:*" never
redis_command pttl "$(redis_command keys "tamis:{a:1:*")"
echo "# dropped"
tamis redis drop "$redis_uri/a:*" "$redis_uri/none" "$redis_uri/a:*" "$redis_uri/a:7" 2>&1 | shown
echo "status ${PIPESTATUS[0]}"
count 'tamis:{a:*'
count 'tamis:{b:*'
tamis check -c "$redis_uri/b:{1}" records
echo "# without SCAN, and with it at last"
redis_command acl setuser clerk on '>secret' '~*' '+@all' '-scan' > none
clerk="redis://clerk:secret@127.0.0.1:$redis_port/b:*"
tamis redis drop "$clerk" 2>&1 | shown
tamis redis ls "$redis_uri/b:*"
count 'tamis:{b:*'
tamis check "$redis_uri/b:{1}" records 2>&1 | shown
redis_command acl setuser clerk +scan > none
tamis redis drop "$clerk"
redis_command keys '*' | shown
