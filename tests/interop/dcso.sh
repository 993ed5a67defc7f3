#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Files of DCSO's bloom, compared with its command on random keys: the same bytes and answers, in both
# directions.
set -u
command -v bloom >/dev/null || { echo "skipped: no bloom (golang-github-dcso-bloom-cli)"; exit 77; }
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
cd "$work" && python3 "$TAMIS_SOURCE_DIR/tests/interop/dcso.py" "$TAMIS_INTEROP_DIR/filter_file" "$seed" "$(scaled 10 100 1000)"
