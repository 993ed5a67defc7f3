#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Removes one rule of the news at a time: the model must find the fault.
# ctest: not-sanitized ctest: timeout=600
MODEL=guard_news
. "$(dirname "$0")/run.bash"

# Without it, a fault might be missing only because the search never gets there.
finds I0_end_reached "a row that was deleted is there again, in the second filter after a restart" -DREACH
finds I1_wrong_absent "a filter that answers although its guard is silent" -DF_SILENCE
finds I1_wrong_absent "a row that is written without a wait" -DF_WAIT
finds I1_wrong_absent "an age that is counted from the reply" -DF_SENT
finds I1_wrong_absent "a new filter that begins without the recent keys" -DF_BEGIN
finds I1_wrong_absent "a key that only the old filter gets" -DF_BOTH
finds I1_wrong_absent "a filter that is used after a gap in the news" -DF_GAP
exit $((errors != 0))
