# SPDX-License-Identifier: BSD-2-Clause
# Lines of standard input: any bytes but the newline, empty ones, a last one without; operands and - in their
# order.
printf 'a\n\n\0b\r\n\xff' > in
tamis hash < in | cmp - <(tamis hash --hex 61 '' 00620d ff)
tamis hash - < in | cmp - <(tamis hash < in)
tamis hash x - y - < in | cmp - <(tamis hash x; tamis hash < in; tamis hash y)
tamis hash -- -x | cmp - <(tamis hash --hex 2d78)
tamis hash < /dev/null
tamis hash '' # of XXH3-128 of nothing, known as 99aa06d3014798d86001c324468d497f
# Lines longer than a read.
for size in 1 65535 65536 65537 300000; do
    head -c $size /dev/zero | tr '\0' x
    echo
done > long
tamis hash --scheme guava64 < long > whole
while IFS= read -r line; do tamis hash --scheme guava64 <<< "$line"; done < long | cmp - whole
wc -l < whole
