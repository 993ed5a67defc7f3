# SPDX-License-Identifier: BSD-2-Clause
# Parameters in the URI of --output work for build as for add; a resize keeps the parameters that are not
# given.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
seq 100 > keys
plan() { redis_command hget "tamis:{$1}" plan | grep -o '\(scheme\|seed\|probes\|expect\|fpr\)=[^ ]*' | xargs; }
tamis build -q -o "$redis_uri/a?expect=3000&fpr=1%25&seed=5" keys
plan a
tamis build -q -o "$redis_uri/b?probes=7&scheme=guava64" --expect 2000 keys
plan b
tamis build -q -o "$redis_uri/a?expect=3000" --expect 3000 --fpr 0.01 --seed 5 keys
plan a
for wrong in "a?expect=3000|--expect 2000" "a?fpr=0.01|--fpr 1e-3" "a?seed=5|--seed 6" "a?scheme=xxh3|--scheme guava64"; do
    tamis build -q -o "$redis_uri/${wrong%|*}" ${wrong#*|} keys
    echo "status $?"
done
tamis build -q -o "$redis_uri/a?expect=some" keys
echo "status $?"
tamis build -q --resize -o "$redis_uri/a?expect=9000" keys
plan a
tamis build -q --resize -o "$redis_uri/a" --expect 9500 --fpr 1e-3 keys
plan a
tamis build -q --resize -o "$redis_uri/c?layout=java&expect=10&fpr=0.1" keys
echo "status $?"
# The default rate is that of build.
echo 1 | tamis add "$redis_uri/d?expect=1000"
plan d
tamis verify "$redis_uri/d" 2>&1 | sed "s|$redis_uri|SERVER|"
