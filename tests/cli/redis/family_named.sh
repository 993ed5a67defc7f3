# SPDX-License-Identifier: BSD-2-Clause
# If a family is named instead of a filter, or a filter instead of a family, the message helps; the trace of a
# family names the record.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
shown() { sed -E "s|127.0.0.1:$redis_port|SERVER|g"; }
printf '1\tmon\tkey 1\n' | tamis add --trace "$redis_uri/t:{1}:{2}?expect=100" 2>&1 | grep -o '^record=[^	]*'
printf '1\tmon\tkey 2\n' | tamis check --trace "$redis_uri/t:{1}:{2}" 2>&1 | grep -o '^record=[^	]*\|answer=.*'
tamis info "$redis_uri/t:{1}:{2}" 2>&1 | shown
tamis redis drop "$redis_uri/t:{1}:{2}" 2>&1 | shown
tamis info "$redis_uri/t:{1}?layout=java&expect=10&fpr=0.1" 2>&1 | shown
tamis info "$redis_uri/t:*:*" 2>&1 | shown
tamis redis ls "$redis_uri/t:*"
