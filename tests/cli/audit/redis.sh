# SPDX-License-Identifier: BSD-2-Clause
# The measured rate of a filter in Redis, and its keys.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
seq 1 1000 >keys
tamis add "$redis_uri/seen?expect=1000&fpr=0.01" keys
tamis audit --json "$redis_uri/seen" keys | sed "s/$redis_port/PORT/; s/, \"fpr_live.*\"keys\"/ ... \"keys\"/"
