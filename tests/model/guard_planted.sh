#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Removes one rule of a guard at a time: the model must find the fault.
# ctest: not-sanitized ctest: timeout=600
MODEL=guard
. "$(dirname "$0")/run.bash"

# Without it, a fault might be missing only because the search never gets there.
finds I0_end_reached "both rows are written, and the second becomes an entry" -DREACH
finds I1_wrong_absent "a key that is added to the filter behind its row" -DF_FILTER
finds I2_old_entry "no mark in front of the row" -DF_FIRST
finds I2_old_entry "a mark that leaves the entry" -DF_ENTRY
finds I2_old_entry "a mark that leaves the lease" -DF_LEASE
finds I2_old_entry "a lease in spite of a mark" -DF_MARK
finds I2_old_entry "a row that is stored without the lease" -DF_TOKEN
finds I2_old_entry "one token for two sendings of G2" -DF_SENDINGS -DLATE=2
finds I2_old_entry "a writer that removes the marks of others" -DF_MARKS
finds I2_old_entry "a mark that expires before the row is written" -DF_LIFE
finds I2_old_entry "the same, and a last step that leaves the entry" -DSLOW -DF_LAST_ENTRY
finds I2_old_entry "the same, and a last step that leaves the lease" -DSLOW -DF_LAST_LEASE
exit $((errors != 0))
