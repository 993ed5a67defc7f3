# SPDX-License-Identifier: BSD-2-Clause
# A directory cannot be replaced.
mkdir directory
echo a | tamis dedup -o directory
echo "status $?"
ls -A
