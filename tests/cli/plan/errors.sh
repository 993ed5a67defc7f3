# SPDX-License-Identifier: BSD-2-Clause
# Bad options, an operand, a full disk.
tamis plan 1e9
echo "status $?"
tamis plan --expect 0
echo "status $?"
tamis plan --expect 1e6 > /dev/full
echo "status $?"
