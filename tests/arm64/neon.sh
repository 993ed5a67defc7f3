#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libtamis on arm64, with its vector kernels: what they make of keys and bytes. Properties and faults are other machines' to
# test; emulated, they take longer than all the rest.
# ctest: timeout=3600
. "$TAMIS_SOURCE_DIR/tests/arm64/cross.bash"
test_cross neon -LE 'property|fault'
