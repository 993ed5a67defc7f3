# SPDX-License-Identifier: BSD-2-Clause
# The files of other programs, by their first bytes: Guava's strategy and number of hash functions, DCSO's
# version.
printf '%s\n' a b c > in
tamis build -o g64 --format guava --expect 1000 --fpr 1e-3 in
od -An -tx1 -N2 g64
tamis build -o g32 --scheme guava32 --format guava --expect 1000 --fpr 1e-3 in
od -An -tx1 -N2 g32
tamis build -o dcso --format dcso --expect 1000 --fpr 1e-3 in
od -An -tx1 -N8 dcso
for file in g64 g32 dcso; do printf '%s\n' c x | tamis check $file; done
