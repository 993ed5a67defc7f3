#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The Redis module, used by phpredis with rawCommand: replies and errors are those of a list. phpredis speaks RESP2.
set -u
module=$TAMIS_BUILD_DIR/module/tamis.so
[ -e "$module" ] || { echo "skipped: built without the module (TAMIS_MODULE)"; exit 77; }
command -v php >/dev/null || { echo "needs php"; exit 77; }
php -r 'exit(class_exists("Redis") ? 0 : 1);' || { echo "needs php-redis"; exit 77; }
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
directory=$TAMIS_SOURCE_DIR/tests/interop/redis
redis_start --loadmodule "$module"
sed 's/: .*//' "$directory/module_clients.txt" | php "$directory/module.php" "$redis_socket" >"$work/got" || exit 1
diff "$directory/module_clients.txt" "$work/got"
