#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# tamis dedup by keys of JSON, CSV and fields, beside python's json and csv and a set: the same bytes of output, from plain
# and compressed inputs, into compressed outputs.
set -u
for packer in gzip zstd lz4 xz bzip2; do
    command -v $packer >/dev/null || { echo "skipped: no $packer"; exit 77; }
done
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
cd "$work" && python3 "$TAMIS_SOURCE_DIR/tests/interop/dedup_keys.py" "$TAMIS_BUILD_DIR/bin/tamis" "$seed" \
    "$(scaled 2000 100000 1000000)"
