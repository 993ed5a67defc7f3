# SPDX-License-Identifier: BSD-2-Clause
# No memory for one long record: an error.
# ctest: not-sanitized
ulimit -v 300000
head -c 500M /dev/zero | tamis dedup
echo "${PIPESTATUS[1]}"
