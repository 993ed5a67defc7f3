#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: timeout=900
# ctest: disk
# dedup --state --follow-input reads a log that grows and is rotated at random, also while dedup is down. It
# is killed at random, and sometimes stopped; then it may go on with other outputs. At the end the outputs,
# one after the other, have the first occurrences and the duplicates, in their order, byte for byte. Then the
# same with several logs, some of which come later, by --files: the outputs have these records in any order.
# Then both without --state, and without kills. 8 kills, 300 by ./dev torture; 300,000 records; for each.
set -u
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
export kills records seed
kills=$(scaled 5 8 300)
records=$(scaled 20000 300000 1000000)
PATH=$TAMIS_BUILD_DIR/bin:$PATH
for state in yes no; do
    for logs in 1 4; do
        mkdir "$work/$state$logs"
        cd "$work/$state$logs" || exit 2
        state=$state logs=$logs python3 "$TAMIS_SOURCE_DIR/tests/crash/follow.py" || exit
    done
done
