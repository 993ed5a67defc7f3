#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: timeout=1800
# ctest: disk
# 30 simulated days of a window of 24 hours, a run a day over one state. A tenth of each day's keys came the
# day before, less than 24 hours ago, and another tenth more than 25 hours ago: the output has exactly the
# others. Memory must not grow after the third day, and the files of the state not beyond a snapshot, and a
# log of twice the filter and 64 MiB. 10,000 records a day, and 50,000; by ./dev torture 10^7.
set -u
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
records=$(scaled 10000 50000 10000000)
PATH=$TAMIS_BUILD_DIR/bin:$PATH
cd "$work" || exit 2
fail() {
    echo "day $day: $*" >&2
    exit 1
}
# day_of DAY: its records, "TIME KEY", spread over 24 hours. Record i of a day has its own key, unless i % 10
# is 5 or 7: then it has the key of the day before that came an hour and a half later in its day (22.5 hours
# ago), or earlier (25.5 hours ago).
day_of() {
    awk -v day="$1" -v n="$records" 'BEGIN {
        shift = int(n / 16)
        for (i = 0; i < n; i++) {
            key = day * n + i
            if (day > 0 && i % 10 == 5 && i + shift < n) key = (day - 1) * n + i + shift - (i + shift) % 10
            if (day > 0 && i % 10 == 7 && i >= shift) key = (day - 1) * n + i - shift - (i - shift) % 10
            print 1700006400 + 86400 * day + int(86400 * i / n) "\t" key
        }
    }'
}
max_memory=0 max_bytes=0
for ((day = 0; day < 30; day++)); do
    day_of $day > records.$day
    tamis dedup --state seen --window 24h --step 1h --time field:1 --key field:2 --exactly-once --stats --json \
        -o once.$day --duplicates again.$day records.$day 2> stats || fail "$(cat stats)"
    expected=$((day == 0 ? 0 : records * 15 / 16 / 10))
    again=$(wc -l < again.$day)
    rm -f -- *.$day
    memory=$(sed -n 's/.*"memory": \([0-9]*\).*/\1/p' stats)
    bytes=$(du -sb seen | cut -f 1)
    [ $((again - expected)) -ge -2 ] && [ $((again - expected)) -le 2 ] ||
        fail "$again records came within 24 hours, expected $expected"
    max_bytes=$((bytes > max_bytes ? bytes : max_bytes))
    [ $day -ge 3 ] || max_memory=$((memory > max_memory ? memory : max_memory))
    [ "$memory" -le $max_memory ] || fail "$memory bytes of memory, $max_memory in the first days"
    [ "$bytes" -le $((4 * memory + (70 << 20))) ] || fail "$bytes bytes of files, $memory of memory"
done
echo "$records records a day: $max_memory bytes of memory, at most $max_bytes of files, $bytes at the end"
