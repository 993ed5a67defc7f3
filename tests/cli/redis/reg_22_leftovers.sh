# SPDX-License-Identifier: BSD-2-Clause
# What a killed drop or expire of a family or of a filter leaves is listed and removed. Families in use, and
# those whose lock is held, stay.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
shown() { sed -E 's/[0-9a-f]{16}/GENERATION/g'; }
seq 60 | awk '{print "u"$1%7"\td"$1%3"\tp"$1}' > pairs
seq 100 > keys
plan_of() { redis_command hget "tamis:{$1}" plan; }
generation_of() { plan_of "$1" | sed 's/.*generation=\([0-9a-f]*\).*/\1/'; }
members() { redis_command keys "tamis:{*:$1}:bits" | grep -c .; }
left() { tamis redis ls --leftover "$redis_uri/$1" | shown; }
clean() { tamis redis clean "$redis_uri/$1" | shown; }
# As a drop leaves it that is killed after it took effect: the plan is in field before, and the copy is gone.
drop_killed() {
    redis_command hset "tamis:{$1}" before "$(plan_of "$1")" > none
    redis_command hdel "tamis:{$1}" plan > none
    redis_command del "tamis:{$1}:plan" > none
}
make() { tamis add "$redis_uri/$1:{1}:{2}?expect=$2&fpr=0.01" pairs; }

make live 100
make other 100
live=$(generation_of 'live:*:*') other=$(generation_of 'other:*:*')
echo "# a family that is in use, and one whose hash alone was deleted"
redis_command del 'tamis:{other:*:*}' > none
left
clean

echo "# a killed drop of a family"
make read 100
drop_killed 'read:*:*'
redis_command set 'tamis:{read:*:*}:push' somebody > none
left
clean
redis_command del 'tamis:{read:*:*}:push' > none
left
left 'unread:*'
clean 'read:*'
redis_command keys '*read*'

echo "# the same, and the family is made again"
make read 100
old=$(generation_of 'read:*:*')
drop_killed 'read:*:*'
make read 200
left
clean
left
members "$old"
tamis check -c "$redis_uri/read:{1}:{2}" pairs

echo "# a killed expire: hash and copy are gone"
redis_command del 'tamis:{read:*:*}' 'tamis:{read:*:*}:plan' > none
redis_command set 'tamis:{u1:d1:00000000000000aa}:bits' x px 60000 > none # goes by itself
left
left 'read:u1:*'
clean 'read:u1:*'
clean
left
redis_command keys '*read*'

echo "# a killed drop of a filter, with partitions and without"
for partitions in 1 0; do
    tamis build -q -o "$redis_uri/filter" keys
    generation=$(generation_of filter)
    drop_killed filter
    [ $partitions -eq 1 ] || redis_command del "tamis:{filter:$generation:0}:bits" > none
    left
    clean
    left
    redis_command keys '*filter*'
done
echo "# partitions that expire"
tamis build -q -o "$redis_uri/filter" keys
generation=$(generation_of filter)
drop_killed filter
redis_command pexpire "tamis:{filter:$generation:0}:bits" 60000 > none
clean
redis_command keys '*filter*'

echo "# in use"
tamis check -c "$redis_uri/live:{1}:{2}" pairs
members "$live"
members "$other"

echo "# members without a record stay if the user may not read all hashes or not use INFO, and in a cluster"
redis_command set 'tamis:{m:1:00000000000000bb}:bits' x > none
redis_command set 'tamis:{m:2:00000000000000bb}:bits' x > none
as_clerk() {
    redis_command acl setuser clerk reset on '>secret' '+@all' "$@" > none
    tamis redis clean "redis://clerk:secret@127.0.0.1:$redis_port/m:*"
}
as_clerk '~tamis:{m:*'
as_clerk '~*' -info
as_clerk '~*'
redis_start --cluster-enabled yes --cluster-config-file nodes.conf
redis_command cluster addslots $(seq 0 16383) > none
until redis_command cluster info | grep -q cluster_state:ok; do sleep 0.1; done
redis_command set 'tamis:{m:00000000000000bb}:bits' x > none
clean
tamis redis clean "redis+cluster://127.0.0.1:$redis_port/"
redis_command keys '*'
