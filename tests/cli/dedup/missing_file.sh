# SPDX-License-Identifier: BSD-2-Clause
# A file that is not there; the output stays as it was.
echo old > once
tamis dedup -o once nowhere
echo "status $?"
cat once
ls -A
