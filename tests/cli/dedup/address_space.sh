# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# No memory under ulimit -v: an error, no file.
# ctest: not-sanitized
ulimit -v 80000
echo a | tamis dedup --kind blocked --expect 1e9 --fpr 1e-6 -o once
echo "status $?"
tamis gen urls 10M | tamis dedup --exact -o once
echo "${PIPESTATUS[@]}"
tamis gen words 1000 | tamis dedup > /dev/null
echo "status $?"
ls -A
