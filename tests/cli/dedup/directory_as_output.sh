# SPDX-License-Identifier: BSD-2-Clause
# A directory cannot be replaced.
mkdir folder
echo a | tamis dedup -o folder
echo "status $?"
ls -A
