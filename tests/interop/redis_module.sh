#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The Redis module in redis-server: replies, dumps, RDB, AOF, replicas, memory, crashes (tests/interop/redis/module.py).
# ctest: torture
set -u
# shellcheck source=tests/support/redis_module.bash
. "$TAMIS_SOURCE_DIR/tests/support/redis_module.bash"
module_run module.py "$(scaled 300 2000 50000)"
