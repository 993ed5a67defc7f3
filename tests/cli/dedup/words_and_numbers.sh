# SPDX-License-Identifier: BSD-2-Clause
# Empty names, a single record, numbers as people write them.
tamis dedup ""
echo "status $?"
tamis gen urls 2000 | tamis dedup --kind classic --expect 1 2>&1 > /dev/null | grep -o 'made for .*;'
tamis gen words 10000 > in
tamis dedup --kind blocked --expect 10000 --fpr 0.5 --stats in 2>&1 > /dev/null |
    grep -E '^(bytes|estimated)' | sed -E 's/[0-9]+,[0-9]{3}  /N  /; s/ [0-9.]+ kB$/ V/; s/ +/ /g'
tamis dedup --max-record 1.5 in
tamis gen urls 1000 > urls
tamis dedup --memory 1.3M urls | cmp - urls
