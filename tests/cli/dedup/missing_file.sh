# SPDX-License-Identifier: BSD-2-Clause
# A file that does not exist; the output is unchanged.
echo old > once
tamis dedup -o once nowhere
echo "status $?"
cat once
ls -A
