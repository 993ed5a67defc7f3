#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Keys by regular expressions, compared with python's re module on bytes, with patterns that mean the same in
# both.
set -u
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
python3 "$TAMIS_SOURCE_DIR/tests/interop/regex_keys.py" "$TAMIS_INTEROP_DIR/extract_ops" "$seed" "$(scaled 500 100000 1000000)"
