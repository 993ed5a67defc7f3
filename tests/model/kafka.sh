#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: torture
# `tamis kafka dedup` keeps every property in every run of these bounds.
# ctest: not-sanitized ctest: timeout=1800
MODEL=kafka
. "$(dirname "$0")/run.bash"

holds "the partition moves, a member crashes"
holds "the partition moves and comes back" -DCRASHES=0 -DMOVES=2
holds "the partition moves, the retention removes" -DCRASHES=0 -DRETENTION=1
holds "a standby keeps a filter, the partition moves and comes back" -DCRASHES=0 -DMOVES=2 -DSTANDBY=1 -DRECORDS=2
holds "a standby keeps a filter, the partition moves, the retention removes" \
    -DCRASHES=0 -DRETENTION=1 -DSTANDBY=1 -DRECORDS=2
holds "a rebalance leaves the partition where it is, the broker aborts, an outcome is lost" \
    -DCRASHES=0 -DMOVES=0 -DKEPT=1 -DTIMEOUTS=1 -DLOSSES=1 -DRECORDS=2
holds "a rebalance leaves the partition where it is, the retention removes" -DCRASHES=0 -DMOVES=0 -DKEPT=1 -DRETENTION=1 -DRECORDS=2
holds "the first transaction has no records, the partition moves, a member crashes" -DFIRST=1 -DRECORDS=2
holds "old hashes are copied and cut, the partition moves, a member crashes" -DMERGES=1 -DRECORDS=2
holds "old hashes are copied and cut, the partition moves and comes back" -DCRASHES=0 -DMOVES=2 -DMERGES=1 -DRECORDS=2
holds "old hashes are copied twice and cut, the partition moves" -DCRASHES=0 -DMERGES=2 -DRECORDS=2
holds "old hashes are copied and cut, both sides abort, an outcome is lost" \
    -DCRASHES=0 -DMOVES=0 -DTIMEOUTS=1 -DABORTS=1 -DLOSSES=1 -DMERGES=1 -DRECORDS=2
if [ "${TAMIS_TEST_SCALE-}" = torture ]; then
    holds "old hashes are copied and cut, three records, the partition moves, a member crashes" -DMERGES=1
    holds "old hashes are copied and cut, a standby keeps a filter, the partition moves" -DCRASHES=0 -DSTANDBY=1 -DMERGES=1
    holds "old hashes are copied and cut, the partition moves, the retention removes" \
        -DCRASHES=0 -DRETENTION=1 -DMERGES=1 -DRECORDS=2
    holds "the first transaction has no records, the partition moves and comes back, an outcome is lost" \
        -DFIRST=1 -DCRASHES=0 -DMOVES=2 -DLOSSES=1
    holds "a standby keeps a filter, the partition moves, a member crashes" -DSTANDBY=1
    holds "a standby keeps a filter, the partition moves and comes back, the operator sets the offset" \
        -DCRASHES=0 -DMOVES=2 -DRESETS=1 -DSTANDBY=1
    holds "a standby keeps a filter, the partition moves, the broker aborts, an outcome is lost" \
        -DCRASHES=0 -DTIMEOUTS=1 -DLOSSES=1 -DSTANDBY=1
    holds "the partition moves, two crashes" -DCRASHES=2 -DRECORDS=4
    holds "the partition moves and comes back, a member crashes" -DMOVES=2
    holds "the partition moves, a rebalance leaves it where it is, a member crashes" -DKEPT=1
    holds "the partition moves and comes back, the broker aborts, an outcome is lost" -DCRASHES=0 -DMOVES=2 -DTIMEOUTS=1 -DLOSSES=1
    holds "the partition moves, a member crashes, both sides abort, an outcome is lost" -DTIMEOUTS=1 -DLOSSES=1 -DABORTS=1
    holds "the partition moves, a member crashes, the retention removes" -DRETENTION=1
    holds "the partition moves, a member crashes, the operator sets the offset" -DRESETS=1
    holds "the partition moves and comes back, the operator sets the offset, the retention removes" \
        -DCRASHES=0 -DMOVES=2 -DRESETS=1 -DRETENTION=1 -DRECORDS=2
fi
exit $((errors != 0))
