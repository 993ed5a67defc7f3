# SPDX-License-Identifier: BSD-2-Clause
# A filter whose making a server does not get on with says how much of it is there; run again, it is made.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
shown() { sed -E "s|127.0.0.1:$redis_port|SERVER|g"; }
seq 10 > keys
tamis add "$redis_uri/whole?expect=1e6&fpr=0.01&partition=65536" keys
redis_ask hset 'tamis:{half}' plan "$(redis_ask hget 'tamis:{whole}' plan)" > none
redis_ask client pause 60000 write > none
tamis check "$redis_uri/half?patience=300ms" keys 2>&1 | shown
redis_ask client unpause > none
tamis check "$redis_uri/half" keys
tamis redis ls "$redis_uri/half"
redis_ask keys 'tamis:{half:*' | wc -l
tamis redis drop "$redis_uri/half" "$redis_uri/whole"
redis_ask dbsize
