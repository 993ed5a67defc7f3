#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Case-folded keys, compared with python's str.casefold(): every character that both know, then random text,
# valid UTF-8 or not.
set -u
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
python3 "$TAMIS_SOURCE_DIR/tests/interop/fold_keys.py" "$TAMIS_INTEROP_DIR/extract_ops" "$seed" "$(scaled 1000 100000 500000)"
