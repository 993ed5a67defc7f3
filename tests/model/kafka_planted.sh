#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: torture
# Removes one guard of `tamis kafka dedup` at a time: the model must find the fault. ./dev torture removes those of restoring,
# snapshots and cuts too.
# ctest: not-sanitized ctest: timeout=600
MODEL=kafka
. "$(dirname "$0")/run.bash"

# Without these two, a fault might be missing only because the search never gets there.
finds I0_end_reached_from_topic "all records are answered by a member that restored a snapshot of the topic" -DREACH=1
finds I0_end_reached_after_cut "the same after both topics were cut" -DREACH=2 -DSNAPSHOTS=2 -DBATCH=1

# Fencing.
finds I1_record_twice "an offset that is accepted from an older generation" -DCRASHES=0 -DSNAPSHOTS=0 -DF_GENERATION
finds I1_record_twice "metadata of a generation in which the member had lost the partition" \
    -DCRASHES=0 -DSNAPSHOTS=0 -DF_METADATA
finds I1_record_lost "a producer that goes on after the broker aborted its transaction" \
    -DCRASHES=0 -DMOVES=0 -DTIMEOUTS=1 -DF_EPOCH
finds I1_record_twice "an offset that is committed after the transaction" -DMOVES=0 -DF_OFFSET_APART -DF_CHAIN
finds I1_record_twice "an unknown outcome that is taken for an abort" -DCRASHES=0 -DMOVES=0 -DLOSSES=1 -DF_UNKNOWN_ABORTED
finds I1_record_lost "an unknown outcome that is taken for a commit" -DCRASHES=0 -DMOVES=0 -DLOSSES=2 -DF_UNKNOWN_COMMITTED

# Hashes that are not committed.
finds I3 "an overlay that is kept after an abort" -DCRASHES=0 -DMOVES=0 -DABORTS=1 -DF_OVERLAY
finds I3 "hashes that are added to the filter before the commit" -DCRASHES=0 -DMOVES=0 -DABORTS=1 -DF_FILTER_EARLY
finds I3 "a snapshot with hashes that are not committed" -DMOVES=0 -DF_DIRTY
finds I3 "a restore that reads records of aborted transactions" -DF_UNCOMMITTED

if [ "${TAMIS_TEST_SCALE-}" != torture ]; then
    exit $((errors != 0))
fi

# Restoring.
finds I2 "input that is answered before the state topic is read" -DMOVES=0 -DF_INPUT_EARLY
finds I "a partition that comes back and is not restored" -DCRASHES=0 -DMOVES=2 -DF_RESTORE_KEPT
finds I4 "an offset that is fetched while a transaction may change it" -DCRASHES=0 -DF_STABLE
finds I1_record_twice "the same, if the chain is not checked" -DCRASHES=0 -DSNAPSHOTS=0 -DF_STABLE -DF_CHAIN
finds I4 "an end of the state topic that is older than the offset" -DCRASHES=0 -DF_END_EARLY
finds I4 "a restore that stops at the last stable offset" -DF_LSO
finds I2 "the same, if the chain is not checked" -DF_LSO -DF_CHAIN
finds I4 "a snapshot that says that it covers the end of the state topic" -DMOVES=0 -DF_COVERS_END
finds I4 "a snapshot below the low watermark" -DMOVES=2 -DF_LOW
finds I2 "the same, if the chain is not checked" -DMOVES=2 -DF_LOW -DF_CHAIN
finds I2 "a cut while a member restores, which it does not notice" -DMOVES=2 -DF_RANGE -DF_CHAIN
finds I4 "a zombie that refuses what the new owner has moved" -DCRASHES=0 -DF_REFETCH
finds I4 "a transaction of duplicates without a state record" -DMOVES=0 -DF_EMPTY
finds I1 "an offset that the operator has set" -DCRASHES=0 -DMOVES=0 -DRESETS=1 -DF_CHAIN

# Snapshots in the topic, and cuts.
finds I4 "a snapshot that is published before it is whole" -DMOVES=0 -DF_PUBLISH_EARLY
finds I4 "a cut before the snapshot is published" -DMOVES=0 -DF_CUT_EARLY
finds I4 "a snapshot that a zombie publishes" -DMOVES=1 -DSNAPSHOTS=2 -DF_PUBLISH_APART
finds I4 "an upload that goes on in a later assignment" \
    -DCRASHES=0 -DMOVES=2 -DSNAPSHOTS=2 -DRECORDS=2 -DBATCH=1 -DF_UPLOAD_KEPT
exit $((errors != 0))
