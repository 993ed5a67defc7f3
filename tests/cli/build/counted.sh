# SPDX-License-Identifier: BSD-2-Clause
# Files are counted first, also standard input from its position: capacity for the records, and little more.
tamis gen words 30000 --seed 5 > words
sort -u words | wc -l > distinct
capacity() { grep -o '"capacity": [0-9]*' | grep -o '[0-9]*$'; }
fits() { awk -v room="$2" '{ print (room >= $1 && room <= 1.03 * $1 + 2) ? "fits" : room " for " $1 }' "$1"; }
fits distinct "$(tamis build -o a.tamis --json words 2>&1 | capacity)"
fits distinct "$(tamis build -o b.tamis --json words words 2>&1 | capacity)"
fits distinct "$(tamis build -o c.tamis --json < words 2>&1 | capacity)"
cmp a.tamis c.tamis | grep -v 'differ' # but for the time, perhaps
{ read -r _ && tail -c +1 words | tail -n +2 > rest && tamis build -o d.tamis -q; } < words
for filter in a b c; do tamis check -v $filter.tamis words; done
tamis check -c d.tamis rest | cmp - <(wc -l < rest)
: > empty
tamis build -o e.tamis empty && tamis check e.tamis words
ls -A
