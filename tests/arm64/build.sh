#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libtamis and its tests compile for arm64 without a warning. The other tests of this directory run after this
# one and use its build.
# ctest: timeout=1800
. "$TAMIS_SOURCE_DIR/tests/arm64/cross.bash"
build_cross
file=$(head -c 20 "$cross/tests/kernel/test_kernels" | od -An -tu2 -j18 -N2)
[ "$((file))" = 183 ] || { echo "machine $file is not arm64"; exit 1; }
