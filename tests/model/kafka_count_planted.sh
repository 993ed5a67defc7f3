#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Removes one guard of `tamis kafka count` at a time: the model must find the fault.
# ctest: not-sanitized ctest: timeout=600
MODEL=kafka_count
. "$(dirname "$0")/run.bash"

# Without it, a fault might be missing only because the search never gets there.
finds I0_end_reached "all records are counted by the other member" -DREACH
finds I1_counted_twice "a script that compares no position" -DF_COMPARE
finds I1_counted_twice "records below the position of a slot that are not skipped" -DF_SKIP
finds I2_lost "a home slot that comes before the others" -DF_ORDER
finds I "an offset that is committed in front of the scripts, and decides" -DF_EARLY -DF_OFFSET
finds I3_refused_without_reason "no offset in front of the first script" -DF_BEGIN
finds I3_refused_without_reason "a refusal that does not repeat A1" -DF_REPEAT
finds I2_lost "a loss of writes in another slot than the home slot, which nothing can show in time" -DLOSSES=1 -DF_LOSS
exit $((errors != 0))
