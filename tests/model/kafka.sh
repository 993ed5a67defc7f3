#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: torture
# `tamis kafka dedup` keeps every property in every run of these bounds.
# ctest: not-sanitized ctest: timeout=1800
MODEL=kafka
. "$(dirname "$0")/run.bash"

holds "the partition moves, a member crashes" -DSNAPSHOTS=0
holds "the partition moves and comes back" -DCRASHES=0 -DMOVES=2 -DSNAPSHOTS=0
holds "the partition moves, a snapshot, any whole one is loaded" -DCRASHES=0 -DSCAN=1
if [ "${TAMIS_TEST_SCALE-}" = torture ]; then
    holds "the partition moves, a rebalance leaves it where it is" -DCRASHES=0 -DSNAPSHOTS=0 -DKEPT=1 -DRECORDS=2
    holds "the partition moves, the broker aborts, an outcome is lost" \
        -DCRASHES=0 -DSNAPSHOTS=0 -DTIMEOUTS=1 -DLOSSES=1 -DRECORDS=2
    holds "a member crashes, both sides abort, an outcome is lost" -DMOVES=0 -DTIMEOUTS=1 -DLOSSES=1 -DABORTS=1 -DRECORDS=2
    holds "a member crashes, two snapshots" -DMOVES=0 -DSNAPSHOTS=2 -DBATCH=1
    holds "the partition moves, the operator sets the offset" -DCRASHES=0 -DSNAPSHOTS=0 -DRESETS=1 -DRECORDS=2
    holds "the partition moves, a snapshot, the retention deletes" -DCRASHES=0 -DRETENTION=1 -DRECORDS=2
    holds "the partition moves, a member crashes, a snapshot"
    holds "the partition moves, two crashes" -DCRASHES=2 -DSNAPSHOTS=0
    holds "the partition moves and comes back, two snapshots" -DCRASHES=0 -DMOVES=2 -DSNAPSHOTS=2 -DRECORDS=2 -DBATCH=1
    holds "a member crashes, a snapshot, the operator sets the offset" -DMOVES=0 -DRESETS=1
    holds "the partition moves, a member crashes, the broker aborts, a snapshot" -DTIMEOUTS=1 -DRECORDS=2
fi
exit $((errors != 0))
