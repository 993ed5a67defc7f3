#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Unit tests of libtamis on arm64, with its vector kernels. Only tests that depend on how the CPU computes:
# tests of system calls, and tests that need many keys, would take too long under emulation.
# ctest: timeout=1800
. "$TAMIS_SOURCE_DIR/tests/arm64/cross.bash"
build_cross
export TAMIS_KERNEL=neon
hashing='bkdr|funnel|funnel_text|hash|murmur3|positions'
tables='filter|fingerprint|fingerprint_line|line_count'
files='dcso_file|golden_files|guava|guava_file'
ctest --test-dir "$cross" --no-tests=error --output-on-failure -R "^test_(isa|$hashing|$tables|$files)\$"
