# SPDX-License-Identifier: BSD-2-Clause
# No room for the file: an error, the old file stays, nothing is left beside it.
echo old > f.tamis
tamis gen words 100000 > words
(
    ulimit -f 64
    tamis build -o f.tamis words
    echo "status $?"
)
cat f.tamis
ls -A
