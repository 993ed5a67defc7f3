# SPDX-License-Identifier: BSD-2-Clause
# More records than expected: an error, and the old file stays.
echo old > once
tamis gen urls 200000 | tamis dedup --kind blocked --expect 1000 -o once
echo "status $?"
cat once
ls -A
