# SPDX-License-Identifier: BSD-2-Clause
# A command that there is not.
tamis help dedupe
echo "status $?"
tamis help dedup gen
echo "status $?"
