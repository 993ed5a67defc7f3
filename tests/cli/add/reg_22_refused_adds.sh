# SPDX-License-Identifier: BSD-2-Clause
# An error reply says that nothing was added. Only keys without a reply may be in the filter, and none if it
# was dropped.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
seq 300 > keys
# A command that is sent just before the patience ends may be left without a reply: on a busy machine, try
# again.
refusals='NOPERM\|NOREPLICAS\|OOM\|READONLY'
try() { # WHAT URI
    for _ in 1 2 3 4 5; do
        tamis add --print fresh "$2" keys > out 2> err
        local status=$?
        grep -q 'may be in it' err || ! grep -q "$refusals" err || break
    done
    (exit $status)
    echo "$1: $? $(wc -l < out) $(grep -c 'may be in it' err)"
    grep -o "$refusals" err | head -1
}
tamis add "$redis_uri/f?expect=1e5&fpr=1e-6&partition=65536" < /dev/null
redis_command acl setuser clerk reset on '>secret' '~*' '+@all' -bitfield > none
try 'no permission' "redis://clerk:secret@127.0.0.1:$redis_port/f"
redis_command config set min-replicas-to-write 1 > none
try 'too few replicas' "$redis_uri/f?patience=300ms"
redis_command config set min-replicas-to-write 0 > none
redis_command config set maxmemory 1 > none
try 'no memory' "$redis_uri/f"
redis_command config set maxmemory 0 > none
redis_command replicaof 127.0.0.1 1 > none
try 'a replica' "$redis_uri/f?patience=2s"
redis_command replicaof no one > none
echo "in it: $(tamis check -c "$redis_uri/f" keys)"

# Some of the commands are refused: the others count.
redis_command acl setuser clerk reset on '>secret' '~*' '+@all' > none
key=$(redis_command --scan --pattern 'tamis:{f:*:0}:bits')
redis_command acl setuser clerk resetkeys '%R~*' "%RW~${key/:0\}/:[1-9]\}}" > none
tamis add --print fresh "redis://clerk:secret@127.0.0.1:$redis_port/f" keys > out 2> err
said=$(sed -n 's/.*: up to \([0-9]*\) new keys may be in it.*/\1/p' err)
there=$(tamis check -c "$redis_uri/f" keys)
[ $((${said:-0} + $(wc -l < out))) -eq "$there" ] && [ "$there" -gt 0 ] && [ "$there" -lt 300 ] && echo 'counted exactly'

# Dropped in the middle of an add
mkfifo feed
tamis add --print fresh "$redis_uri/g?expect=1e5" < feed > out 2> err &
exec 3> feed
head -5 keys >&3
until [ "$(wc -l < out)" = 5 ]; do sleep 0.05; done
tamis redis drop "$redis_uri/g"
tail -290 keys >&3
exec 3>&-
wait $!
echo "dropped: $? $(wc -l < out)"
sed "s/127.0.0.1:$redis_port/SERVER/" err
