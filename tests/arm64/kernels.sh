#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The tests of kernels on arm64. Each test runs all sets of the machine and prints their names; scalar and
# NEON must be among them.
# ctest: timeout=1800
. "$TAMIS_SOURCE_DIR/tests/arm64/cross.bash"
build_cross
for test in "$cross"/tests/kernel/test_*; do
    said=$("$qemu" "$test" 2>&1) || { echo "$said"; exit 1; }
    for set in scalar neon; do
        grep -q "^kernels $set\>" <<<"$said" || { echo "${test##*/}: $set did not run"; exit 1; }
    done
done
