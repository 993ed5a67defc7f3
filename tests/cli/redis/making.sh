# SPDX-License-Identifier: BSD-2-Clause
# If the server fails while a filter is made, the filter does not exist and nothing is left; a repeated
# command makes it.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
shown() { sed -E "s|127.0.0.1:$redis_port|SERVER|g"; }
seq 10 > keys
redis_command client pause 60000 write > none
tamis add "$redis_uri/half?expect=1e6&fpr=0.01&partition=65536&patience=300ms" keys 2>&1 | shown
redis_command client unpause > none
tamis redis ls "$redis_uri/"
redis_command del 'tamis:{half}:push' > none
tamis add "$redis_uri/half?expect=1e6&fpr=0.01&partition=65536" keys
tamis redis ls "$redis_uri/half"
redis_command keys 'tamis:{half:*' | wc -l
tamis redis drop "$redis_uri/half"
redis_command dbsize
