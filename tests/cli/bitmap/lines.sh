# SPDX-License-Identifier: BSD-2-Clause
# Offsets one per line, among operands, in a last line without a newline; and more than fit into a batch.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
printf '1\n2=0\n3=1' | tamis bitmap set "$redis_uri/k" 0 - 1 2 3 | tr '\n' ' '
tamis bitmap get "$redis_uri/k" 0 1 2 3 4 4294967295 | tr '\n' ' '
echo
seq 0 2 19999 | tamis bitmap set "$redis_uri/k" | sort | uniq -c | tr -s ' '
seq 0 19999 | tamis bitmap get "$redis_uri/k" | awk '{ ones[NR % 2] += $1 } END { print ones[1], ones[0] }'
tamis bitmap set "$redis_uri/new" 99=0
redis_command strlen new
tamis bitmap set "$redis_uri/k" < /dev/null
