#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# tamis dedup with keys from JSON, CSV and fields, compared with python's json, csv and set. The output must
# have the same bytes, also with compressed inputs and outputs.
set -u
for program in gzip zstd lz4 xz bzip2; do
    command -v $program >/dev/null || { echo "skipped: no $program"; exit 77; }
done
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
cd "$work" && python3 "$TAMIS_SOURCE_DIR/tests/interop/dedup_keys.py" "$TAMIS_BUILD_DIR/bin/tamis" "$seed" \
    "$(scaled 2000 30000 1000000)"
