# SPDX-License-Identifier: BSD-2-Clause
# ls --leftover and clean say which filters they leave out because the lock of a killed command lives, and
# drop, expire and alias wait for it.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
shown() { sed -E "s|127.0.0.1:$redis_port|SERVER|g; s/[0-9a-f]{16}/GENERATION/g; s/(up to|within) [0-9]+ s/\1 N s/"; }
leave() { # a drop that was killed, and whose lock lives
    seq 10 | tamis build -q -o "$redis_uri/$1"
    redis_command hset "tamis:{$1}" before "$(redis_command hget "tamis:{$1}" plan)" > none
    redis_command hdel "tamis:{$1}" plan > none
    redis_command del "tamis:{$1}:plan" > none
    lock "$1"
}
lock() { redis_command set "tamis:{$1}:push" killed px "${2:-50000}" > none; }
leave f
seq 10 | tamis build -q -o "$redis_uri/busy" # in use: nothing to say
lock busy
for command in 'ls --leftover' 'ls --leftover --json' clean; do
    tamis redis $command "$redis_uri/" 2>&1 | shown
done
leave 'g h'
tamis redis clean "$redis_uri/" 2>&1 | shown
redis_command del 'tamis:{f}:push' 'tamis:{g h}:push' > none
tamis redis clean "$redis_uri/" 2>&1 | shown | sort

echo "# waiting"
tamis redis expire --lock-wait 0 "$redis_uri/busy" 1d 2>&1 | shown
for command in 'expire URI 1d' 'alias today busy' 'drop URI'; do
    lock busy 300
    tamis redis $(printf %s "$command" | sed "s|URI|$redis_uri/busy|; s|today|$redis_uri/today|")
    echo "$?"
done
lock today 300
tamis redis unalias "$redis_uri/today"
echo "$?"
tamis redis ls --lock-wait 3 "$redis_uri/" 2>&1 | shown

echo "# the name of a filter that may not be removed"
redis_command hset 'tamis:{f}' before 'generation=00000000000000aa' > none
redis_command set 'tamis:{f:00000000000000aa:0}:bits' x > none
redis_command acl setuser clerk reset on '>secret' '~*' '+@read' > none
tamis redis clean "redis://clerk:secret@127.0.0.1:$redis_port/" 2>&1 | shown | cut -c 1-60
