# SPDX-License-Identifier: BSD-2-Clause
# The reader of --print goes: nothing is saved.
echo a > in
tamis build -o f.tamis --expect 1e6 in
cp f.tamis before
tamis gen words 500000 | tamis add f.tamis --print fresh | head -n 0
echo "${PIPESTATUS[1]}"
cmp f.tamis before
tamis gen words 500000 | tamis add f.tamis --print fresh > /dev/full
echo "status $?"
cmp f.tamis before
ls -A
