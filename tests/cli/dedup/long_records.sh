# SPDX-License-Identifier: BSD-2-Clause
# Records of any length: five megabytes, twice, and one that differs in its last byte.
long() { head -c 5000000 /dev/zero | tr '\0' x; echo "$1"; }
{ long 1; long 2; echo short; long 1; long 2; } | tamis dedup | wc -lc | tr -s ' '
