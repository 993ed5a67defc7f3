# SPDX-License-Identifier: BSD-2-Clause
# Redis keys left by killed builds and drops are listed and removed; keys in use, and those of a running
# build, stay.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
seq 1000 > keys
shown() { sed -E 's/[0-9a-f]{16}/GENERATION/'; }
plan_of() { redis_command hget "tamis:{$1}" plan | sed "s/generation=.*/generation=$2/"; }
tamis build -q --expect 4000 --fpr 0.01 -o "$redis_uri/seen?partition=2048" keys
tamis add "$redis_uri/other?expect=1000&fpr=0.01" keys
echo "# nothing is left"
tamis redis ls --leftover "$redis_uri/"
for i in 0 1 2; do
    redis_command set "tamis:{seen:00000000000000aa:$i}:bits" x > none # a build that was killed when it had sealed these,
    redis_command set "tamis:{seen:00000000000000bb:$i}:bits" x > none # what was replaced by one that was killed then,
    redis_command set "tamis:{gone:00000000000000cc:$i}:bits" x > none # and one that no record names
done
redis_command set "tamis:{m:00000000000000dd:1:0000000000000001}:bits" x > none # a member of a family that no hash names
redis_command set "tamis:{seen:00000000000000ee:0}:bits" x px 60000 > none       # goes by itself
redis_command hset 'tamis:{seen}' pushing "$(plan_of seen 00000000000000aa)" before "$(plan_of seen 00000000000000bb)" > none
redis_command set 'tamis:{seen}:push' somebody > none
echo "# while somebody has the lock"
tamis redis ls --leftover "$redis_uri/seen"
redis_command del 'tamis:{seen}:push' > none
echo "# all"
tamis redis ls --leftover "$redis_uri/"
tamis redis ls --leftover --json "$redis_uri/gone"
echo "# removed"
tamis redis clean "$redis_uri/seen"
tamis redis clean --json "$redis_uri/"
tamis redis clean "$redis_uri/"
tamis check -c "$redis_uri/seen" keys
tamis check -c "$redis_uri/other" keys
redis_command keys '*' | sort | shown
tamis redis clean
tamis redis drop --leftover "$redis_uri/seen"
