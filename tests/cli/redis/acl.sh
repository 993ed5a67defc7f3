# SPDX-License-Identifier: BSD-2-Clause
# A refusal by an ACL: the message names the refused command, or the Redis keys of the layout. With these
# rights the command works.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
seq 10 > keys
tamis build -q -o f.tamis --kind blocked keys
shown() { sed -E "s|127.0.0.1:$redis_port|SERVER|g; s|clerk:secret@||g"; }
clerk="redis://clerk:secret@127.0.0.1:$redis_port"
redis_command acl setuser clerk on '>secret' '~*' '+@all' '-setrange' > none
tamis copy -o "$clerk/zz" f.tamis 2>&1 | shown
redis_command acl setuser clerk on '~other' > none
try() {
    redis_command acl setuser clerk resetkeys '+@all' '~other' > none
    tamis add -q "$clerk/zz?layout=$1" keys 2>&1 | shown | grep -c "\~NAME \|~tamis:{NAME\*\|~bf:NAME"
    redis_command acl setuser clerk "${@:2}" > none
    tamis add "$clerk/zz?layout=$1" keys
    tamis build -o "$clerk/zz?layout=$1" keys
    tamis check -c "$clerk/zz?layout=$1" keys
    redis_command flushall > none
}
try 'tamis&expect=100' '~tamis:{zz*'
try 'java&expect=100&fpr=0.01' '~bf:zz' '~{bf:zz}:*'
try 'php1&bits=1000&probes=3' '~zz' '~{zz}:*'
try 'php2&bits=1000&probes=3' '~zz.*' '~{zz.*'
try 'php3&bits=1000&probes=3' '~zz:*' '~{zz:*'
try 'redisson&expect=100&fpr=0.01' '~zz' '~{zz}:*'
echo "# listed"
for name in a b mine%2F1 mine%2F2 z; do
    tamis add "$redis_uri/$name?expect=100&fpr=0.01" keys
    tamis add "$redis_uri/$name?expect=100&fpr=0.01&layout=java" keys
done
redis_command acl setuser clerk resetkeys '~tamis:{mine*' '~bf:z' > none
tamis redis ls "$clerk/"
tamis redis ls --json "$clerk/a*"
redis_command acl setuser clerk resetkeys > none
tamis redis ls "$clerk/" | grep -c denied
