# SPDX-License-Identifier: BSD-2-Clause
# A directory has no records.
mkdir folder
tamis dedup folder -o once
echo "status $?"
ls -A
