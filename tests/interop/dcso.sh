#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Files of DCSO's bloom, by its command and by tamis, on random keys: the same bytes, the same answers, both directions.
set -u
command -v bloom >/dev/null || { echo "skipped: no bloom (golang-github-dcso-bloom-cli)"; exit 77; }
case ${TAMIS_TEST_SCALE-full} in
    quick | sanitizer) filters=10 ;;
    torture) filters=1000 ;;
    *) filters=100 ;;
esac
seed=${TAMIS_TEST_SEED-$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')}
echo "seed: TAMIS_TEST_SEED=$seed"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" && python3 "$TAMIS_SOURCE_DIR/tests/interop/dcso.py" "$TAMIS_INTEROP_DIR/filter_file" "$seed" "$filters"
