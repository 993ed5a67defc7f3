# SPDX-License-Identifier: BSD-2-Clause
# No disk space for the file: an error, the old file stays, no temporary file is left.
echo old > f.tamis
tamis gen words 100000 > words
(
    ulimit -f 64
    tamis build -o f.tamis words
    echo "status $?"
)
cat f.tamis
ls -A
