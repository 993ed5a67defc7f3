#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Removes one guard of `tamis kafka dedup` at a time: the model must find the fault.
# ctest: not-sanitized ctest: timeout=600
MODEL=kafka
. "$(dirname "$0")/run.bash"

# Without these five, a fault might be missing only because the search never gets there.
finds I0_end_reached_with "all records are answered by a member that went on with the filter it kept" \
    -DCRASHES=0 -DMOVES=2 -DREACH=1
finds I0_end_reached_after "the same after the retention removed state records that this filter has" \
    -DCRASHES=0 -DMOVES=2 -DRETENTION=1 -DREACH=2
finds I0_end_reached_by "all records are answered by a member whose filter was warm" -DCRASHES=0 -DSTANDBY=1 -DREACH=4
finds I0_end_reached_at "all records are answered by a member that went on at once" -DCRASHES=0 -DMOVES=0 -DKEPT=1 -DREACH=5
finds I0_refused "the retention removes state records, and a member refuses" -DCRASHES=0 -DRETENTION=1 -DREACH=3

# Fencing.
finds I1_record_twice "an offset that is accepted from an older generation" -DCRASHES=0 -DF_GENERATION
finds I1_record_twice "an offset that is sent with newer metadata than those of the assignment" -DCRASHES=0 -DF_METADATA
finds I1_record_lost "a producer that goes on after the broker aborted its transaction" \
    -DCRASHES=0 -DMOVES=0 -DTIMEOUTS=1 -DF_EPOCH
finds I1_record_twice "an offset that is committed after the transaction" -DMOVES=0 -DF_OFFSET_APART -DF_CHAIN
finds I1_record_twice "an unknown outcome that is taken for an abort" -DCRASHES=0 -DMOVES=0 -DLOSSES=1 -DF_UNKNOWN_ABORTED
finds I3 "an unknown outcome that is taken for a commit" -DCRASHES=0 -DMOVES=0 -DLOSSES=2 -DF_UNKNOWN_COMMITTED

# Hashes that are not committed.
finds I3 "an overlay that is kept after an abort" -DCRASHES=0 -DMOVES=0 -DABORTS=1 -DF_OVERLAY
finds I3 "hashes that are added to the filter before the commit" -DCRASHES=0 -DMOVES=0 -DABORTS=1 -DF_FILTER_EARLY
finds I3 "a filter that is kept with hashes that are not committed" -DCRASHES=0 -DMOVES=0 -DKEPT=1 -DF_DIRTY
finds I3 "a restore that reads records of aborted transactions" -DF_UNCOMMITTED

# Restoring.
finds I2 "input that is answered before the state topic is read" -DMOVES=0 -DF_INPUT_EARLY
finds I "a partition that comes back and is not restored" -DCRASHES=0 -DMOVES=2 -DF_RESTORE_KEPT
finds I "a member that goes on at once, whatever the offset is" -DCRASHES=0 -DMOVES=2 -DF_KEPT_OFFSET
finds I4 "an offset that is fetched while a transaction may change it" -DCRASHES=0 -DF_STABLE
finds I1_record_twice "the same, if the chain is not checked" -DCRASHES=0 -DF_STABLE -DF_CHAIN
finds I4 "an end of the state topic that is older than the offset" -DCRASHES=0 -DF_END_EARLY
finds I4 "a restore that stops at the last stable offset" -DF_LSO
finds I2 "the same, if the chain is not checked" -DF_LSO -DF_CHAIN
finds I4 "a kept filter that says that it covers the end of the state topic" -DCRASHES=0 -DMOVES=2 -DF_COVERS_END
finds I2 "the same, if the chain is not checked" -DCRASHES=0 -DMOVES=2 -DF_COVERS_END -DF_CHAIN
finds I4 "a zombie that refuses what the new owner has moved" -DCRASHES=0 -DF_REFETCH
finds I4 "a transaction of duplicates without a state record" -DMOVES=0 -DF_EMPTY
finds I1 "an offset that the operator has set" -DCRASHES=0 -DMOVES=0 -DRESETS=1 -DF_CHAIN

# Standby.
finds I3 "a standby that reads records of aborted transactions" -DCRASHES=0 -DMOVES=1 -DABORTS=1 -DSTANDBY=1 -DF_STANDBY_UNCOMMITTED
finds I4 "a standby that goes on behind a record that is not decided" -DCRASHES=0 -DSTANDBY=1 -DF_STANDBY_UNDECIDED
finds I2 "the same, if the chain is not checked" -DCRASHES=0 -DSTANDBY=1 -DF_STANDBY_UNDECIDED -DF_CHAIN
finds I2 "a standby that does not notice that records in front of it were removed, nor the gap in the chain" \
    -DCRASHES=0 -DRETENTION=1 -DSTANDBY=1 -DF_STANDBY_CHAIN

# Copies of old hashes.
finds I0_end_reached_after_merge "all records are answered by a member that read a chain twice cut" \
    -DCRASHES=0 -DMERGES=2 -DRECORDS=2 -DREACH=6
finds I4 "a cut before the copies are committed" -DCRASHES=0 -DMERGES=1 -DF_CUT_EARLY
finds I2 "the same, if chain and low watermark are not checked" -DCRASHES=0 -DMERGES=1 -DF_CUT_EARLY -DF_WATERMARK -DF_CHAIN
finds I2 "records that are cut and were not copied" -DCRASHES=0 -DMERGES=1 -DF_COPIES_BEYOND
finds I2 "a member that goes on after an abort as if the copies were committed" \
    -DCRASHES=0 -DABORTS=1 -DMERGES=1 -DF_COPIES_ABORTED
finds I2 "a reader that skips the copies" -DCRASHES=0 -DMERGES=1 -DF_COPIES_SKIPPED
finds I3 "copies of hashes that are not committed" -DCRASHES=0 -DABORTS=1 -DMERGES=1 -DF_COPIES_UNCOMMITTED
finds I2 "a copy that passes by records that are not decided yet" -DCRASHES=0 -DMERGES=1 -DF_COPIES_LSO
finds I4 "a low watermark that is newer than the end of the state topic" -DMERGES=1 -DF_LOW_LATE
finds I2 "copies that hide that somebody has removed records" -DCRASHES=0 -DRETENTION=1 -DMERGES=1 -DF_COPIES_RANGE

# State records that somebody removed.
finds I2 "an empty filter above a low watermark of 0" -DCRASHES=0 -DRETENTION=1 -DF_WATERMARK
finds I2 "a kept filter below the low watermark, if the chain is not checked" -DCRASHES=0 -DMOVES=2 -DRETENTION=1 -DF_LOW -DF_CHAIN
finds I2 "records that are removed while a member restores, which it does not notice, if the chain is not checked" \
    -DMOVES=0 -DRETENTION=1 -DF_RANGE -DF_CHAIN
exit $((errors != 0))
