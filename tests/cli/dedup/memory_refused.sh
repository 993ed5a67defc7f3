# SPDX-License-Identifier: BSD-2-Clause
# A plan that does not fit --memory is refused at the start, before the output is touched.
echo old > once
echo a | tamis dedup --memory 1MiB --expect 1e8 -o once
echo "status $?"
cat once
