# SPDX-License-Identifier: BSD-2-Clause
# On a read-only file system, the message of add has the remedy, and no advice to write elsewhere, which add
# cannot.
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
