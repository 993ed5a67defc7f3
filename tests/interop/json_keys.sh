#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: torture
# Values of JSON records by pointer beside python's json module and jq, on random hostile records.
# ctest: timeout=900
set -u
command -v jq >/dev/null || { echo "skipped: no jq"; exit 77; }
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
cd "$work" &&
    python3 "$TAMIS_SOURCE_DIR/tests/interop/json_keys.py" "$TAMIS_INTEROP_DIR/json_ops" "$seed" "$(scaled 2000 10000 1000000)"
