# SPDX-License-Identifier: BSD-2-Clause
# --trace prints a line for each record, in order: the published example of the Java class. Only for filters
# in Redis.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
filter="$redis_uri/topic%20read?layout=java&expect=3000&fpr=0.03"
mask() { tr '\t' '\n' | sed "s/$redis_port/PORT/; s/ms=[0-9]*\.[0-9]\{3\}$/ms=MS/"; }
printf '76930242\n76930243\n76930242\n' | tamis add --trace "$filter" 2>&1 | mask
echo "== check"
printf '76930244\n76930243\n' | tamis check --trace "$filter" 2> report
mask < report
printf '1\n2\n' | tamis build -q -o file.tamis
for verb in add check; do
    tamis $verb --trace file.tamis < /dev/null
    echo "status $?"
done
tamis add --trace --progress "$filter" < /dev/null
echo "status $?"
tamis check -k 76930242 --trace -f "$filter" -f file.tamis
echo "status $?"
