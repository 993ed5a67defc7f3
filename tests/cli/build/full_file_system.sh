# SPDX-License-Identifier: BSD-2-Clause
# The same with a full file system, which is noticed before the old file is touched.
mkdir small
mount -t tmpfs -o size=64k tmpfs small 2> /dev/null || { echo 'skipped: may not mount a file system' >&2; exit 77; }
trap 'umount small' EXIT
echo old > small/f.tamis
tamis gen words 100000 > words
tamis build -o small/f.tamis words
echo "status $?"
cat small/f.tamis
tamis build -o g.tamis words
head -n 10 words | tamis build -o small/h.tamis --kind blocked --expect 100
tamis add small/h.tamis words
echo "status $?"
tamis check -c small/h.tamis <(head -n 10 words)
ls -A small
