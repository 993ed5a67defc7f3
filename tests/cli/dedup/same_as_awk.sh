# SPDX-License-Identifier: BSD-2-Clause
# The output is that of an exact table in memory, for each shape of input and each kind.
# ctest: timeout=900
for shape in words urls clicks; do
    tamis gen $shape 30000 --seed 5 --duplicates 30% > in
    awk '!seen[$0]++' in > expected
    awk 'seen[$0]++' in > repeated
    tamis dedup --duplicates again in > out
    cmp expected out
    cmp repeated again
    for kind in auto classic blocked fingerprint exact; do
        tamis dedup --kind $kind --expect 30000 in | cmp expected -
    done
    tamis dedup --exact in | cmp expected -
    tamis dedup --fpr 1e-12 --memory 64MiB in | cmp expected -
    cat in | tamis dedup | cmp expected -
done
