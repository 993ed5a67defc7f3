# SPDX-License-Identifier: BSD-2-Clause
# A resize of a filter on a server keeps the keys that another program adds while the new one is built.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
uri=$redis_uri/seen
seq 3000 > keys
head -n 1000 keys > first
tail -n 2000 keys > later
tamis build -o "$uri" --expect 1000 --fpr 1e-3 first
mkfifo input
tamis build --resize -o "$uri" --expect 10000 --fpr 1e-3 input 2> said &
exec 3> input
until grep -qs 'from now on' said; do sleep 0.01; done
tamis add -q --allow-over-capacity "$uri" later
echo "before: $(tamis info --json "$uri" | grep -o '"capacity": [0-9]*') $(tamis check "$uri" keys | wc -l)"
cat first >&3
exec 3>&-
wait $!
echo "status $?"
echo "after: $(tamis info --json "$uri" | grep -o '"capacity": [0-9]*') $(tamis check "$uri" keys | wc -l)"
sed "s|$redis_uri|SERVER|" said
redis_command hkeys 'tamis:{seen}' | LC_ALL=C sort | xargs
# A resize that fails leaves the old filter.
tamis build -q --resize -o "$uri" --expect 20000 nowhere
tamis build -q --resize -o "$uri" --expect 20000 --seed 7 first 2>&1 | sed "s|$redis_uri|SERVER|; s|127.0.0.1:$redis_port|SERVER|"
tamis build -q --resize -o "$redis_uri/none" --expect 20000 first 2>&1 | sed "s|$redis_uri|SERVER|; s|127.0.0.1:$redis_port|SERVER|"
tamis build --resize -o "$uri" first
tamis build --resize -o file --expect 10 first
echo "left: $(tamis info --json "$uri" | grep -o '"capacity": [0-9]*') $(tamis check "$uri" keys | wc -l)"
redis_command hkeys 'tamis:{seen}' | LC_ALL=C sort | xargs
