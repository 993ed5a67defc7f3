# SPDX-License-Identifier: BSD-2-Clause
# A filter whose hash and copy were both deleted is not made again while a whole partition of it is left;
# clean removes that.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
shown() { sed -E "s|127.0.0.1:$redis_port|SERVER|g; s/[0-9a-f]{16}/GENERATION/g"; }
seq 400 > keys
plan_of() { redis_command hget "tamis:{$1}" plan; }
generation_of() { plan_of "$1" | sed 's/.*generation=\([0-9a-f]*\).*/\1/'; }
make() { tamis add -q --print fresh "$redis_uri/$1?expect=5000&fpr=1e-6&partition=4096" keys > out 2> err; echo "$? $(wc -l < out)"; shown < err; }
lose() { redis_command del "tamis:{$1}" "tamis:{$1}:plan" > none; }

echo "# every partition is left, then one"
make f
generation=$(generation_of f)
lose f
make f
for partition in 0 1 2 4 5 6 7 8 9; do
    redis_command del "tamis:{f:$generation:$partition}:bits" > none
done
make f
tamis redis ls --leftover "$redis_uri/f" | shown
echo "# nothing is left"
tamis redis clean "$redis_uri/f" | shown
make f
tamis redis drop "$redis_uri/f"

echo "# no loss: other names, a string that a late add created, a partition that was replaced, a record, an expiry"
make 'f:a'
make 'g*'
redis_command setbit 'tamis:{h:00000000000000aa:0}:bits' 100 1 > none
make h
make 'g%3F'
make i
tamis build -q -o "$redis_uri/i" keys
redis_command hdel 'tamis:{i}' plan > none
redis_command del 'tamis:{i}:plan' > none
tamis redis ls --leftover "$redis_uri/i" | shown | sort
tamis redis drop "$redis_uri/i"
redis_command --scan --pattern 'tamis:{i:*' | while read -r key; do redis_command pexpire "$key" 60000 > none; done
make i

echo "# a user who may not SCAN: nobody can tell"
redis_command acl setuser clerk reset on '>secret' '~*' '+@all' -scan > none
make j
lose j
tamis add "redis://clerk:secret@127.0.0.1:$redis_port/j?expect=5000&partition=4096" keys
tamis check -c "$redis_uri/j" keys
