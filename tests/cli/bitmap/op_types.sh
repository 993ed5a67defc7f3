# SPDX-License-Identifier: BSD-2-Clause
# A key that is not a bitmap is neither overwritten nor used as one, and the message names it.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
redis_command rpush list a > said
redis_command set bits x > said
tamis bitmap op "$redis_uri/list" or bits 2>&1 | sed "s|127.0.0.1:$redis_port|SERVER|g"
tamis bitmap op "$redis_uri/new" or bits list 2>&1 | sed "s|127.0.0.1:$redis_port|SERVER|g"
redis_command type list
redis_command exists new
