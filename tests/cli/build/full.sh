# SPDX-License-Identifier: BSD-2-Clause
# More records than expected: an error, the old file stays, no temporary file is left.
echo old > f.tamis
printf '%s\n' a b c d a > in
tamis build -o f.tamis --expect 3 --kind classic in
echo "status $?"
cat f.tamis
tamis build -o f.tamis --expect 4 --kind classic in && tamis check -c f.tamis in
tamis gen words 300000 | tamis build -o g.tamis --memory 1200KiB
echo "status $?"
ls -A
