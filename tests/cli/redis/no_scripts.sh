# SPDX-License-Identifier: BSD-2-Clause
# Where scripts are forbidden, what changes which filter a name has is refused, and all else works.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
shown() { sed -E "s|127.0.0.1:$redis_port|SERVER|g; s|clerk:secret@||g; s|; all that filters take.*|...|"; }
clerk="redis://clerk:secret@127.0.0.1:$redis_port"
seq 1000 > keys
seq 1001 2000 > more
tamis build -q --expect 3000 -o "$redis_uri/seen" keys
redis_ask acl setuser clerk on '>secret' '~*' '+@all' '-@scripting' > none
tamis add "$clerk/seen" more
tamis check -c "$clerk/seen" keys more
tamis info --json "$clerk/seen" | grep -c '"added"'
tamis copy -o seen.tamis "$clerk/seen"
for command in "build -q --expect 3000 -o $clerk/seen keys" "build -q --resize --expect 9000 -o $clerk/seen keys more" \
    "redis drop $clerk/seen" "redis expire $clerk/seen 1h" "redis alias $clerk/today seen" "clear $clerk/seen" \
    "add $clerk/new?expect=1000 keys"; do
    tamis $command 2>&1 | shown
done
tamis check -c "$redis_uri/seen" keys more
tamis redis ls "$redis_uri/" | cut -f 1-3
redis_ask keys '*new*'
