#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libtamis on arm64, without vector kernels: what of it would otherwise use them.
# ctest: timeout=1800
. "$TAMIS_SOURCE_DIR/tests/arm64/cross.bash"
test_cross scalar -R "test_(kernels|hash|filter|golden_files|isa)"
