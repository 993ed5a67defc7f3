# SPDX-License-Identifier: BSD-2-Clause
# Every JSON member of redis, and of add to a server, is in the manual, and no other.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
. "$TAMIS_SOURCE_DIR/tests/cli/help.bash"
needs mandoc
make_manual
redis_start
seq 100 > keys
tamis add --json "$redis_uri/seen?expect=1000&fpr=0.01" keys keys 2>&1 | members | diff - <(documented add)
redis_command set 'tamis:{gone:00000000000000cc:0}:bits' x > none
{ tamis redis ls --json "$redis_uri/" && tamis redis clean --json "$redis_uri/"; } | members | diff - <(documented redis)
