# SPDX-License-Identifier: BSD-2-Clause
# A row for each stage and one for huge pages, on standard error, with the summary or without; with --json one
# member of it.
printf 'a\nb\na\n' | tamis dedup --profile --threads 1
# Without records the column has times in all, not times per record.
tamis dedup --profile < /dev/null 2>&1 | grep '^stage'
printf 'a\nb\na\n' | tamis dedup --profile --json --threads 2 2>&1 > out | grep -o '"profile": {[^}]*}' |
    grep -oE '"[a-z_]+":' | tr '\n' ' '
