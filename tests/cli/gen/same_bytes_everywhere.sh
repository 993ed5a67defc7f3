# SPDX-License-Identifier: BSD-2-Clause
# The bytes of every release on every machine: these sums never change.
for shape in words urls clicks; do
    tamis gen $shape 10000 | sha256sum
    tamis gen $shape 1e4 --seed 7 | sha256sum
    tamis gen $shape 10k --seed 0x7 --duplicates 20% | sha256sum
done
tamis gen words 1e6 --seed 7 | sha256sum
tamis gen words 5 --seed 7
tamis gen urls 3 --seed 7
tamis gen clicks 2 --seed 7
