#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# All machines and sets of kernels write the same files, byte for byte, and give the same answers from them:
# arm64 with and without vector kernels, and this machine with each of its sets.
# ctest: timeout=1800
. "$TAMIS_SOURCE_DIR/tests/arm64/cross.bash"
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
build_cross
secret='a secret of 25 characters'

# run_on SET PROGRAM ARGUMENT...: runs PROGRAM, a path in tests/ of both builds, on a machine with that set.
run_on() {
    local set=$1 program=$2
    shift 2
    case $set in
    arm64-*) TAMIS_KERNEL=${set#arm64-} "$qemu" "$cross/tests/$program" "$@" ;;
    *) TAMIS_KERNEL=$set "$TAMIS_BUILD_DIR/tests/$program" "$@" ;;
    esac
}

sets=(scalar arm64-scalar arm64-neon)
for set in avx2 avx512 neon; do
    kernel=$(TAMIS_KERNEL=$set "$TAMIS_BUILD_DIR/bin/tamis" -V 2>/dev/null | sed -n 's/^kernel *//p')
    [ -z "$kernel" ] || sets+=("$set")
done
for set in "${sets[@]}"; do
    mkdir "$work/$set"
    run_on "$set" format/make_filters "$work/$set" "$seed" 300 >"$work/made" || exit 1
    diff -r "$work/scalar" "$work/$set" || { echo "$set: files differ"; exit 1; }
    for reader in "${sets[@]}"; do
        said=$(run_on "$reader" arm64/query_filters "$secret" "$work/$set"/*.tamis) || { echo "$reader: $said"; exit 1; }
        case $said in
        "${reader#arm64-} "[1-9]*) ;;
        *) echo "$reader did not run: $said"; exit 1 ;;
        esac
    done
done
# A changed answer must be noticed.
sed -i '1s/\t.*/\t0/' "$work/scalar/exact-xxh3.lookups"
run_on scalar arm64/query_filters "$secret" "$work/scalar/exact-xxh3.tamis" && { echo "a false answer is not noticed"; exit 1; }
echo "sets ${sets[*]}"
