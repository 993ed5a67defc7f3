# SPDX-License-Identifier: BSD-2-Clause
# The choice, its reason, and every kind; the numbers are those of the library.
tamis plan --expect 1e9 --fpr 1e-9 > out
grep -E '^records   1,000,000,000 distinct$' out
grep -cE '^rate      1e-9: ' out
grep -oE '^choice    fingerprint: ..' out
grep -oE '^  kind +bits/key +memory +per key +lines +rate$' out
grep -cE '^[* ] (classic|blocked|fingerprint|exact) +[0-9.]+ +[0-9.]+ [GT]iB +[0-9]+( probes?|-bit slot) +[0-9.]+ +[0-9.]+(e-?[0-9]+)?( .*)?$' out
grep -oE '^\* [a-z]+' out
