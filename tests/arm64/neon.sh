#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libtamis on arm64, with its vector kernels.
# ctest: timeout=3600
. "$TAMIS_SOURCE_DIR/tests/arm64/cross.bash"
test_cross neon
