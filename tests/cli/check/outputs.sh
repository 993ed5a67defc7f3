# SPDX-License-Identifier: BSD-2-Clause
# A reader that has gone, a full disk, no output at all.
tamis gen words 300000 > in
tamis build -o f.tamis in
tamis check f.tamis in | head -n 0
echo "${PIPESTATUS[0]}"
tamis check f.tamis in > /dev/full
echo "status $?"
tamis check -c f.tamis in > /dev/full
echo "status $?"
tamis check f.tamis -k a > /dev/full || echo "status $?"
tamis check f.tamis in >&-
echo "status $?"
tamis check -q f.tamis in >&-
echo "status $?"
