# SPDX-License-Identifier: BSD-2-Clause
# Records are synced before the filter that knows them is saved. If they cannot be synced, it is not saved.
# /proc/self/comm is a regular file that takes bytes and cannot be synced.
[ -w /proc/self/comm ] || { echo 'skipped: no /proc' >&2; exit 77; }
printf '%s\n' a b > in
tamis dedup in > /proc/self/comm
echo "status $?"
tamis dedup --filter f.tamis in > /proc/self/comm
echo "status $?"
tamis dedup --filter f.tamis in
echo c | tamis add --print fresh f.tamis > /proc/self/comm
echo "status $?"
echo c | tamis check f.tamis
echo "status $?"
