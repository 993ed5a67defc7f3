#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Removes one guard of a pipe with positions at a time: the model must find the fault.
# ctest: not-sanitized ctest: timeout=600
MODEL=positions
. "$(dirname "$0")/run.bash"

finds I1_record_written_twice "records that are queried again whatever their position" -DKILLS=1 -DF_POSITIONS
finds I1_record_written_twice "a start that forgets the positions" -DKILLS=1 -DF_RESTORE
finds I1_record_written_twice "a start that does not cut the output" -DKILLS=1 -DF_CUT
finds I1_record_lost "one position for all sources" -DKILLS=0 -DF_SHARED
finds I1_record_lost "a commit of positions that were queried but not written" -DKILLS=1 -DF_COMMIT_QUERIED
finds I1_record_lost "a commit of keys that were queried but not written" -DKILLS=1 -DF_LOG_QUERIED
finds I1_record_lost "a report of positions that were queried but not written" -DKILLS=1 -DF_REPORT_QUERIED
finds I1_record_lost "a report in front of the commit" -DKILLS=1 -DF_REPORT_EARLY
finds I1_committed_output_lost "a commit without the sync of the output" -DKILLS=1 -DPOWER=1 -DF_SYNC
finds I1_record_lost "a consumer that begins behind the acknowledged position" -DKILLS=1 -DF_BEGIN
finds I1_record_lost "a consumer that delivers a source out of order" -DKILLS=0 -DF_ORDER
finds I2_new_source_dropped "a source recreated, whose keys are not compared" -DKILLS=0 -DRECREATED=1 -DF_KEYS
finds I2_new_source_dropped "a consumer that acknowledges a new source by reports of the old one" \
    -DPOSITIONS=3 -DKILLS=1 -DRETURNS=0 -DRECREATED=1 -DF_ACKNOWLEDGE_OLD
finds I2_new_source_dropped "a source recreated that is read from its middle, which nothing can show" \
    -DPOSITIONS=3 -DKILLS=0 -DRECREATED=1 -DF_MIDDLE
exit $((errors != 0))
