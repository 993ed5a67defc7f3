#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: timeout=900
# ctest: disk
# 24 simulated hours: dedup --state --window --follow-input reads a log that is rotated each hour, and is
# killed at random. Times of records repeat, jump and go back. The output must be that of one undisturbed run,
# byte for byte, and right by an exact answer. The state must not grow. 400 records an hour and 5 kills, 5,000
# and 12; by ./dev torture 100,000 and 300.
set -u
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
export kills records seed
kills=$(scaled 5 12 300)
records=$(scaled 400 5000 100000)
PATH=$TAMIS_BUILD_DIR/bin:$PATH
cd "$work" || exit 2
exec python3 "$TAMIS_SOURCE_DIR/tests/crash/day.py"
