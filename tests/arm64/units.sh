#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libtamis on arm64, with its vector kernels: what follows from how a machine computes. What follows from how a system answers,
# and what takes many keys to see, is other machines' to test: emulated, it takes longer than all the rest.
# ctest: timeout=1800
. "$TAMIS_SOURCE_DIR/tests/arm64/cross.bash"
build_cross
export TAMIS_KERNEL=neon
hashing='bkdr|funnel|funnel_text|hash|murmur3|positions'
tables='filter|fingerprint|fingerprint_line|line_count'
files='dcso_file|golden_files|guava|guava_file'
ctest --test-dir "$cross" --no-tests=error --output-on-failure -R "^test_(isa|$hashing|$tables|$files)\$"
