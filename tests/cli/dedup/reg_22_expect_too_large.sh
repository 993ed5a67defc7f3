# SPDX-License-Identifier: BSD-2-Clause
# ctest: not-sanitized
# An --expect that is far too large costs what comes, where the size of the input is not known: with less memory than a
# tenth of such a filter.
ulimit -v 700000
tamis gen words 500000 --seed 1 > words; gzip -k words; tamis dedup --count words
cat words | tamis dedup --expect 1e9 --count
tamis dedup --expect 1e9 --count words.gz
tamis dedup --expect 1e9 --fpr 1e-2 --filter f.tamis --count < <(cat words); tamis check -c f.tamis words
go() { tamis dedup --state st --expect 1e9 -q "$@" -o out; }
go words && cmp out <(tamis dedup words)
head -c 100000 /dev/urandom | od -An -tx8 -w8 > more
go words more && cmp out <(tamis dedup words more)
