# SPDX-License-Identifier: BSD-2-Clause
# A longer output begins with the shorter one.
for shape in words urls clicks; do
    tamis gen $shape 5000 --seed 1 --duplicates 0.3 > long
    tamis gen $shape 1234 --seed 1 --duplicates 0.3 > short
    head -n 1234 long | cmp - short
    [ "$(wc -l < long)" = 5000 ] || echo 'not 5000 lines'
done
tamis gen words 0
