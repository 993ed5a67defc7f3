# SPDX-License-Identifier: BSD-2-Clause
# If scripts are forbidden, operations that change the filter of a name use transactions. If these are
# forbidden too, they are refused.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
shown() { sed -E "s|127.0.0.1:$redis_port|SERVER|g; s|clerk:secret@||g; s|; tamis-redis.1. lists.*|...|"; }
clerk="redis://clerk:secret@127.0.0.1:$redis_port"
seq 1000 > keys
seq 1001 2000 > more
redis_command acl setuser clerk on '>secret' '~*' '+@all' '-@scripting' > none
tamis build -q --expect 3000 -o "$clerk/seen" keys
tamis add "$clerk/seen" more
tamis build -q --resize --expect 9000 -o "$clerk/seen" keys more
tamis check -c "$clerk/seen" keys more
tamis redis expire "$clerk/seen" 1h
[ "$(redis_command pttl 'tamis:{seen}')" -gt 3500000 ] || echo "does not expire"
tamis copy -o seen.tamis "$clerk/seen" && tamis copy -o "$clerk/copy" seen.tamis
tamis merge -o "$clerk/copy" seen.tamis
tamis redis alias "$clerk/today" copy && tamis check -c "$clerk/today" keys more
tamis add "$clerk/new?expect=1000&fpr=0.01&ttl=1h" keys && tamis add "$clerk/new?ttl=1h" keys && tamis check -c "$clerk/new" keys
tamis clear "$clerk/copy" && tamis check -c "$clerk/today" keys
tamis redis drop "$clerk/today" "$clerk/copy" "$clerk/new"
tamis redis ls "$clerk/" | cut -f 1-3
tamis redis ls --leftover "$clerk/"
echo "# neither"
redis_command acl setuser clerk '-@transaction' > none
for command in "build -q --expect 3000 -o $clerk/seen keys" "redis drop $clerk/seen" "add $clerk/other?expect=1000 keys"; do
    tamis $command 2>&1 | shown
done
tamis add "$clerk/seen" more && tamis check -c "$clerk/seen" keys more
redis_command keys '*other*'
