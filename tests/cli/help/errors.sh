# SPDX-License-Identifier: BSD-2-Clause
# A command that there is not, an action that there is, and ones that there are not.
tamis help dedupe
echo "status $?"
tamis help dedup gen
echo "status $?"
tamis help kafka dedup | head -n 1
tamis help redis ls | head -n 1
tamis help kafka list
echo "status $?"
tamis help kafka dedup count
echo "status $?"
