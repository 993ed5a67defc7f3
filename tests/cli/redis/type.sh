# SPDX-License-Identifier: BSD-2-Clause
# The rule for making keys is stored with a filter on a server, as in a file, by build, add and copy.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
seq 1 200 > keys
seq 1 200 | sed 's/^/007\t+00/' > members
shown() { sed "s|$redis_uri|SERVER|g; s|127.0.0.1:$redis_port|SERVER|g"; }
type_of() { redis_command hget "tamis:{$1}" plan | grep -o 'type=.*'; }
tamis build -q -o ty.tamis --kind blocked --type int64 --expect 500 --label day=1 --data-version 3 keys
tamis copy -o "$redis_uri/copied" ty.tamis 2>&1 | shown
tamis build -q -o "$redis_uri/built" --type int64 keys
tamis merge -q -o "$redis_uri/merged" ty.tamis ty.tamis
tamis add --type int64 "$redis_uri/added?expect=500" keys
for name in copied built merged added; do
    type_of $name
    sed 's/^/+00/' keys | tamis check -c "$redis_uri/$name"
    tamis copy -o back.tamis "$redis_uri/$name"
    tamis check -c back.tamis keys
    tamis info "$redis_uri/$name" | grep type
    tamis check --type utf16 "$redis_uri/$name" keys 2>&1 | shown
    tamis add --type bytes "$redis_uri/$name" keys 2>&1 | shown
done
echo "# families"
tamis add --type int64 "$redis_uri/x:{1}?expect=500" members
type_of 'x:*'
tamis check -c "$redis_uri/x:{1}" members
tamis check --type bytes -c "$redis_uri/x:{1}" members 2>&1 | shown
echo "# resized"
tamis build --resize -q -o "$redis_uri/added?expect=1000" keys
type_of added
tamis check -c "$redis_uri/added" keys
tamis build --resize --type utf16 -q -o "$redis_uri/added?expect=2000" keys 2>&1 | shown
tamis clear "$redis_uri/added"
type_of added
echo "# of a later version, and of none"
plan=$(redis_command hget 'tamis:{copied}' plan)
redis_command hset 'tamis:{copied}' plan "${plan/int64/int128 more=1}" > none
tamis check -c "$redis_uri/copied" keys 2>&1 | shown
redis_command hset 'tamis:{copied}' plan "${plan/ type=int64/}" > none
tamis check -c --type int64 "$redis_uri/copied" keys
echo "# layouts that cannot store it"
tamis build --type int64 -o "$redis_uri/java?layout=java&expect=500&fpr=0.01" keys 2>&1 | shown
tamis copy -o "$redis_uri/java2?layout=java&expect=500&fpr=0.01" "$redis_uri/java?layout=java&expect=500&fpr=0.01" 2>&1 | shown
tamis check -c --type int64 "$redis_uri/java?layout=java&expect=500&fpr=0.01" keys
