#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: torture
# The window of `tamis kafka dedup` keeps every property in every run of these bounds.
# ctest: not-sanitized ctest: timeout=1800
MODEL=kafka_window
. "$(dirname "$0")/run.bash"

holds "the partition moves" -DCRASHES=0
holds "a member crashes" -DMOVES=0 -DRECORDS=4 -DLOG=6
holds "two crashes, no record may be late" -DMOVES=0 -DCRASHES=2 -DRECORDS=4 -DLATENESS=0 -DTIMES=3
holds "a member crashes and aborts" -DMOVES=0 -DABORTS=1
holds "a member crashes, steps of two times" -DMOVES=0 -DSTEP=2 -DTIMES=6
holds "a member crashes, the retention removes, the owner keeps more than it must" -DMOVES=0 -DRETENTION=1 -DCOARSE=1
holds "the partition moves and comes back, no record may be late" \
    -DCRASHES=0 -DMOVES=2 -DLATENESS=0 -DTIMES=3 -DBATCH=1 -DLOG=4
holds "a standby keeps a filter, the partition moves, no record may be late" -DCRASHES=0 -DSTANDBY=1 -DLATENESS=0 -DTIMES=3 -DLOG=4
if [ "${TAMIS_TEST_SCALE-}" = torture ]; then
    holds "a standby keeps a filter, the partition moves" -DCRASHES=0 -DSTANDBY=1
    holds "a standby keeps a filter, the partition moves, the retention removes" -DCRASHES=0 -DRETENTION=1 -DSTANDBY=1 -DTIMES=3
    holds "the partition moves, a member crashes"
    holds "the partition moves and comes back" -DCRASHES=0 -DMOVES=2
    holds "the partition moves, a member aborts" -DCRASHES=0 -DABORTS=1
    holds "the partition moves, the retention removes" -DCRASHES=0 -DRETENTION=1
    holds "the partition moves, the owner keeps more than it must" -DCRASHES=0 -DCOARSE=1
    holds "the partition moves, steps of two times" -DCRASHES=0 -DSTEP=2 -DTIMES=6
    holds "two crashes" -DMOVES=0 -DCRASHES=2 -DRECORDS=4 -DLOG=6
    holds "two crashes, the owner keeps more than it must" -DMOVES=0 -DCRASHES=2 -DRECORDS=4 -DCOARSE=1
    holds "a member crashes, the retention removes twice" -DMOVES=0 -DRETENTION=2 -DRECORDS=4 -DLOG=6
    holds "a member crashes, more times" -DMOVES=0 -DRECORDS=4 -DLOG=6 -DTIMES=6
    holds "a member crashes, five records" -DMOVES=0 -DRECORDS=5 -DLOG=6 -DBATCH=1
    holds "a longer window" -DMOVES=0 -DRECORDS=4 -DLOG=6 -DWINDOW=2 -DTIMES=5
    holds "a longer lateness" -DMOVES=0 -DRECORDS=4 -DLOG=6 -DLATENESS=2 -DTIMES=5
    holds "no record may be late" -DMOVES=0 -DRECORDS=4 -DLOG=6 -DLATENESS=0
fi
exit $((errors != 0))
