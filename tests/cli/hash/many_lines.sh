# SPDX-License-Identifier: BSD-2-Clause
# However the input is cut into reads, the output is the same, and as many lines as keys.
tamis gen urls 2000 > in
tamis hash --scheme redisbloom --bits 1e6 --probes 255 < in > whole
wc -l < whole
dd if=in bs=777 2> /dev/null | tamis hash --scheme redisbloom --bits 1e6 --probes 255 | cmp - whole
sed -n '256,257p;2000p' in | tamis hash --scheme redisbloom --bits 1e6 --probes 255 |
    cmp - <(sed -n '256,257p;2000p' whole)
head -n 1 whole | awk '{ print NF }'
# bkdr63 with the most of everything: hashes and positions of 19 digits.
tamis hash --scheme bkdr63 --bits 4611686018427387904 --probes 255 < in | awk '{ print NF }' | sort -u
