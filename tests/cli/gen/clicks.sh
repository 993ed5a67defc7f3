# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# JSON of about 200 bytes; event_id repeats as asked, a line never.
tamis gen clicks 50000 --seed 3 --duplicates 20% > in
uuid='[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'
grep -cE "^\{\"event_id\":\"$uuid\",\"user_id\":[0-9]+,\"ts\":[0-9]{13},\"url\":\"https://[^\"]+\",(\"[a-z]+\":\"[^\"]*\",?)+\}$" in
sort -u in | wc -l
cut -d'"' -f4 in | sort -u | wc -l | awk '{ print ($1 > 39500 && $1 < 40500) ? "four fifths" : $1 }'
awk '{ s += length($0) + 1 } END { m = s / NR; print (m > 190 && m < 210) ? "about 200" : m }' in
