#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: torture
# `tamis kafka dedup` keeps every property in every run of these bounds.
# ctest: not-sanitized ctest: timeout=1800
MODEL=kafka
. "$(dirname "$0")/run.bash"

holds "the partition moves, a member crashes" -DSNAPSHOTS=0
holds "a member crashes, one snapshot" -DMOVES=0
exit $((errors != 0))
