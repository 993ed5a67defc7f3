# SPDX-License-Identifier: BSD-2-Clause
# ctest: not-sanitized
# With an --expect that is far too large, and an input of unknown size, the memory is that for the actual
# records: the run works with less than a tenth of the memory of such a filter.
ulimit -v 700000
tamis gen words 500000 --seed 1 > words; gzip -k words; tamis dedup --count words
cat words | tamis dedup --expect 1e9 --count
tamis dedup --expect 1e9 --count words.gz
tamis dedup --expect 1e9 --fpr 1e-2 --filter f.tamis --count < <(cat words); tamis check -c f.tamis words
go() { tamis dedup --state st --expect 1e9 -q "$@" -o out; }
go words && cmp out <(tamis dedup words)
head -c 100000 /dev/urandom | od -An -tx8 -w8 > more
go words more && cmp out <(tamis dedup words more)
