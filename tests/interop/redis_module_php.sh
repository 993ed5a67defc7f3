#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The Redis module, used by phpredis with rawCommand: replies and errors are those of a list. phpredis speaks RESP2.
set -u
command -v php >/dev/null || { echo "needs php"; exit 77; }
php -r 'exit(class_exists("Redis") ? 0 : 1);' || { echo "needs php-redis"; exit 77; }
# shellcheck source=tests/support/redis_module.bash
. "$TAMIS_SOURCE_DIR/tests/support/redis_module.bash"
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
directory=$TAMIS_SOURCE_DIR/tests/interop/redis
redis_start --loadmodule "$module"
sed 's/: .*//' "$directory/module_clients.txt" | php "$directory/module.php" "$redis_socket" >"$work/got" || exit 1
diff "$directory/module_clients.txt" "$work/got"
