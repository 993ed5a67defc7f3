#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# docs/FORMAT.md agrees with itself and with the library on which schemes there are: the bound of the header's field, the
# table of hashes, the names and numbers of tamis_scheme.
set -u
norm=$TAMIS_SOURCE_DIR/docs/FORMAT.md
bound=$(sed -nE 's/^\| 68 \| u32 \| scheme \| (1 to [0-9]+),.*/\1/p' "$norm")
# "5, 6" "bkdr31, bkdr63" are two rows of one: a line each, "5 bkdr31".
table=$(sed -n '/^## Schemes/,/^## Classic/p' "$norm" | grep -E '^\| [0-9]' | while IFS='|' read -r _ numbers names _; do
    paste -d ' ' <(tr -d ' ' <<< "$numbers" | tr ',' '\n') <(tr -d ' ' <<< "$names" | tr ',' '\n')
done)
code=$(sed -nE 's/^ *TAMIS_SCHEME_([A-Z0-9_]+) = ([1-9][0-9]*).*/\2 \1/p; /^ *TAMIS_SCHEME_[A-Z0-9_]+ =$/{N;s/^ *TAMIS_SCHEME_([A-Z0-9_]+) =\n *([1-9][0-9]*).*/\2 \1/p}' \
    "$TAMIS_SOURCE_DIR/include/tamis/hash.h" | tr 'A-Z_' 'a-z-')
[ "$(wc -l <<< "$code")" -ge 9 ] || { echo "tamis_scheme is not read: $code"; exit 1; }
[ "$table" = "$code" ] || { diff <(echo "$table") <(echo "$code"); exit 1; }
[ "$bound" = "1 to $(tail -n 1 <<< "$code" | cut -d ' ' -f 1)" ] || { echo "the header says $bound"; exit 1; }
