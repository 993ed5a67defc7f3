#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Keys from fields or bytes of records, trimmed or not, compared with python's split, slices and strip, on
# hostile bytes.
set -u
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
python3 "$TAMIS_SOURCE_DIR/tests/interop/piece_keys.py" "$TAMIS_INTEROP_DIR/extract_ops" "$seed" "$(scaled 2000 30000 1000000)"
