# SPDX-License-Identifier: BSD-2-Clause
# A directory has no records.
mkdir directory
tamis dedup directory -o once
echo "status $?"
ls -A
