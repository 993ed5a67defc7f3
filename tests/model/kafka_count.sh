#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: torture
# `tamis kafka count` keeps every property in every run of these bounds.
# ctest: not-sanitized ctest: timeout=600
MODEL=kafka_count
. "$(dirname "$0")/run.bash"

holds "two slots: the partition moves, a member crashes, a script is late"
holds "one slot loses writes" -DSLOTS=1 -DLOSSES=1
if [ "${TAMIS_TEST_SCALE-}" = torture ]; then
    holds "the partition moves and comes back, two scripts are late" -DMOVES=2 -DLATE=2
    holds "two crashes" -DCRASHES=2
    holds "one slot loses writes twice" -DSLOTS=1 -DLOSSES=2 -DCRASHES=2
    holds "two slots: the home slot loses writes" -DLOSSES=1
    holds "the partition moves and comes back, two crashes, two scripts are late" -DMOVES=2 -DCRASHES=2 -DLATE=2
    holds "one slot: the same, and it loses writes twice" -DSLOTS=1 -DMOVES=2 -DCRASHES=2 -DLATE=2 -DLOSSES=2
fi
exit $((errors != 0))
