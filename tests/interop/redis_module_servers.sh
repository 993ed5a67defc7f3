#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The Redis module on several servers and under load: cluster, failover, eviction, snapshots, crashes
# (tests/interop/redis/module_servers.py).
# ctest: torture
set -u
# shellcheck source=tests/support/redis_module.bash
. "$TAMIS_SOURCE_DIR/tests/support/redis_module.bash"
module_run module_servers.py "$(scaled 300 2000 50000)"
