#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A guard keeps every property in every run of these bounds.
# ctest: torture
# ctest: not-sanitized ctest: timeout=600
MODEL=guard
. "$(dirname "$0")/run.bash"

holds "two readers, two writers, a crash, a late script"
holds "marks that expire before the row is written" -DSLOW
holds "two late scripts, such as a lease and its entry" -DLATE=2 -DCRASHES=0
if [ "${TAMIS_TEST_SCALE-}" = torture ]; then
    holds "three leases" -DLOADS=3
    holds "three leases, marks that expire before the row is written" -DSLOW -DLOADS=3
    holds "two crashes, two late scripts" -DCRASHES=2 -DLATE=2 -DLOADS=3
    holds "marks that expire before the row is written, two late scripts" -DSLOW -DLATE=2 -DLOADS=3
fi
exit $((errors != 0))
