# SPDX-License-Identifier: BSD-2-Clause
# What a state has, and its runs.
tamis gen words 1000 --seed 7 > a.log
tamis gen words 1000 --seed 8 > b.log
tamis dedup --state seen a.log -o once --key bytes:1-2
tamis dedup --state seen b.log a.log -o once --duplicates again --key bytes:1-2 --reread
tamis state show seen | sed "s,$PWD,PWD,g; /^log/d"
tamis state show seen --json | sed 's/"log_bytes": [0-9]*, //; s,'"$PWD"',PWD,g'
tamis state verify seen
tamis state verify seen --json
printf 'c0\t%s\n' '1	a' '2	b' '3	a' > three
(cat three; printf 'c1\t7\tc\n\tx\n') | tamis dedup --state live --window 1h --source field:1 --position field:2 --key field:3 \
    --on-error skip -o live.out -q
tamis dedup --state live --window 1h --source field:1 --position field:2 --key field:3 -o live.out -q < three
tamis state show live | sed "s,$PWD,PWD,g; /^log/d"
tamis state show live --json | sed 's/"newest": [0-9]*/"newest": N/; s/"log_bytes": [0-9]*, //; s,'"$PWD"',PWD,g'
