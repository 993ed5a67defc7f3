# SPDX-License-Identifier: BSD-2-Clause
# Where the file system cannot be written, add says what to do there, and nothing of writing elsewhere, which it cannot.
mkdir small
mount -t tmpfs -o size=1m tmpfs small 2> /dev/null || { echo 'skipped: may not mount a file system' >&2; exit 77; }
trap 'umount small' EXIT
tamis gen words 100 > words
head -n 10 words | tamis build -o small/f.tamis --expect 100
mount -o remount,ro small
tamis add small/f.tamis words
echo "status $?"
tamis clear small/f.tamis
echo "status $?"
tamis build -o small/g.tamis words
echo "status $?"
tamis check -c small/f.tamis <(head -n 10 words)
