# SPDX-License-Identifier: BSD-2-Clause
# For filters without a limit (families, layouts of PHP), add reports at its end that they have more keys than
# planned.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
seq 1 2000 > keys
shown() { sed -E "s|$redis_uri|SERVER|g; s/about [0-9.e,-]+/about N/g"; }
try() {
    echo "# $1"
    tamis add "${@:3}" "$redis_uri/$2" 2>&1 < "$input" | shown
}
input=keys
for layout in php1 php2 php3; do
    try "$layout, too small" "$layout?layout=$layout&bits=100&probes=3"
    try "$layout, large enough" "large$layout?layout=$layout&bits=20000&probes=4"
done
try "and quiet" "php1?layout=php1&bits=100&probes=3" -q
for layout in 'layout=java&expect=10&fpr=0.01' 'layout=tamis&expect=10&fpr=0.01' 'layout=php1&bits=100&probes=3'; do
    # Two of 3000 members have more keys than planned.
    { seq 3000 | sed 's/$/\tkey/'; sed 's/^/7\t/' keys; head -50 keys | sed 's/^/8\t/'; } | shuf --random-source=keys > records
    input=records try "$layout" "f:{1}?$layout"
    head -5 keys | sed 's/^/9\t/' > few
    input=few try "$layout, few" "f:{1}?$layout" --allow-over-capacity
done
echo "# what a server does not tell is left out"
tamis add --json "$redis_uri/s?expect=3000" keys 2>&1 | grep -o '"memory_peak": null, "bits_per_key": null'
tamis add --stats "$redis_uri/s?expect=3000" keys 2>&1 | grep ^server.memory
