#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Removes one guard of the window of `tamis kafka dedup` at a time: the model must find the fault.
# ctest: not-sanitized ctest: timeout=600
MODEL=kafka_window
. "$(dirname "$0")/run.bash"

# Without these five, a fault might be missing only because the search never gets there.
finds I0_end_reached_after_cut "a member that restored a cut topic finds a duplicate in the last record" -DMOVES=0 -DREACH=1
finds I0_end_reached_after_range "a member whose topic was cut during the restore answers the last record" -DMOVES=0 -DREACH=2
finds I0_end_reached_with "a member that went on with the filter it kept, above a cut, finds a duplicate in the last record" \
    -DCRASHES=0 -DMOVES=2 -DREACH=4 -DLATENESS=0 -DTIMES=3
finds I0_end_reached_by "a member whose filter was warm finds a duplicate in the last record, above a cut" \
    -DCRASHES=0 -DSTANDBY=1 -DREACH=5 -DLATENESS=0 -DTIMES=3
finds I0_refused "the retention removes records that are needed, and a member refuses" -DMOVES=0 -DRETENTION=1 -DREACH=3

# Cuts.
finds I1_answer "a cut of keys that are needed for one more step" -DMOVES=0 -DF_NEEDED_SOON
finds I1_answer "the same, if times are compared instead of steps" -DMOVES=0 -DSTEP=2 -DTIMES=6 -DF_NEEDED_TIME
finds I1_answer "a horizon behind a state record that is not the last one of its transaction" \
    -DMOVES=0 -DCRASHES=2 -DRECORDS=4 -DF_HORIZON_OF_EACH_RECORD
finds I2 "a cut before the commit" -DMOVES=0 -DF_CUT_EARLY
finds I2 "a needed offset below that of the state record before" -DMOVES=0 -DCOARSE=1 -DF_NEEDED_BACK

# Restoring.
finds I1_answer "a restore that does not compare the needed offset with the low watermark" -DMOVES=0 -DRETENTION=1 -DF_CHECK
finds I1_answer "a restore that drops keys which are late by the newest time of their state record" -DMOVES=0 -DF_RESTORE_LATE
finds I2 "a cut during a restore that is taken for a loss" -DMOVES=0 -DF_RANGE_REFUSED
finds I2 "a cut during a restore that the member does not notice" -DMOVES=0 -DF_RANGE
finds I2 "a kept filter below the low watermark" -DCRASHES=0 -DMOVES=2 -DF_LOW
finds I1_answer "a standby that does not notice that records in front of it were removed, nor the gap in the chain" \
    -DCRASHES=0 -DRETENTION=1 -DSTANDBY=1 -DLATENESS=0 -DTIMES=2 -DF_STANDBY_RANGE

# The newest time.
finds I1_answer "a newest time that is restored from the times of the keys" -DMOVES=0 -DF_NEWEST
finds I1_answer "a state record without new keys that keeps the newest time of before" -DMOVES=0 -DF_NEWEST_OF_KEYS
finds I1_answer "a newest time that is kept after an abort" -DMOVES=0 -DABORTS=1 -DF_NEWEST_KEPT
finds I1_answer "the same, of a transaction that ends with the assignment" -DCRASHES=0 -DMOVES=2 -DRECORDS=2 -DF_NEWEST_KEPT
exit $((errors != 0))
