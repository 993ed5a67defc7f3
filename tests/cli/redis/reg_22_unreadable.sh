# SPDX-License-Identifier: BSD-2-Clause
# A user who may not read every Redis key: ls --leftover and clean leave out what cannot be read, say how many
# keys, and remove nothing unproven.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
shown() { sed -E "s|127.0.0.1:$redis_port|SERVER|g; s/[0-9a-f]{16}/GENERATION/g"; }
seq 100 > keys
seq 60 | awk '{print "u"$1%7"\tp"$1}' > pairs
plan_of() { redis_command hget "tamis:{$1}" plan; }
drop_killed() {
    redis_command hset "tamis:{$1}" before "$(plan_of "$1")" > none
    redis_command hdel "tamis:{$1}" plan > none
    redis_command del "tamis:{$1}:plan" > none
}
for name in mine other; do
    tamis build -q -o "$redis_uri/$name-live" keys
    tamis build -q -o "$redis_uri/$name-left" keys
    drop_killed "$name-left"
    tamis add "$redis_uri/$name:{1}?expect=100&fpr=0.01" pairs
    drop_killed "$name:*"
    redis_command set "tamis:{$name:1:00000000000000aa:0}:bits" x > none
done
redis_command set 'tamis:{unknown:00000000000000bb}:bits' x > none
clerk="redis://clerk:secret@127.0.0.1:$redis_port"
as_clerk() {
    redis_command acl setuser clerk reset on '>secret' '+@all' "$@" > none
    tamis redis ls --leftover "$clerk/" 2>&1 | shown
    tamis redis clean "$clerk/" 2>&1 | shown
    tamis redis clean --json "$clerk/" 2>&1 | shown
}
list_keys() { redis_command keys '*' | sort > "$1"; }
list_keys before
echo "# nothing can be read"
as_clerk
list_keys after && diff before after
echo "# hashes, but not their copies, partitions or members"
as_clerk '~tamis:{mine-live}' '~tamis:{mine-left}' '~tamis:{mine:\*}' '~tamis:{mine:1}' '~tamis:{*}:push'
list_keys after && diff before after
echo "# all of mine"
as_clerk '~tamis:{mine*'
list_keys after && diff before after | shown | grep -v '^[0-9]' | sort | uniq -c | sed 's/^ *//'
echo "# filters in use"
tamis check -c "$redis_uri/mine-live" keys
tamis check -c "$redis_uri/other-live" keys
echo "# reading is allowed, removing is not"
redis_command acl setuser clerk reset on '>secret' '%R~*' '%W~*:push' '+@all' > none
tamis redis clean "$clerk/" 2>&1 | shown | grep -c NOPERM
echo "# the other user"
tamis redis clean "$redis_uri/" | shown
tamis check -c "$redis_uri/other-live" keys
