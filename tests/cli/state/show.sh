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
