#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# CSV records and their columns, compared with python's csv module, on random hostile bytes.
set -u
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
python3 "$TAMIS_SOURCE_DIR/tests/interop/csv_keys.py" "$TAMIS_INTEROP_DIR/csv_ops" "$seed" "$(scaled 5000 100000 2000000)"
