#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Native filters and windows of the Redis module in redis-server (tests/interop/redis/module_types.py), and the command
# with keys of them (tests/interop/redis/module_copies.py).
set -u
# shellcheck source=tests/support/redis_module.bash
. "$TAMIS_SOURCE_DIR/tests/support/redis_module.bash"
module_run module_types.py "$(scaled 300 2000 50000)"
