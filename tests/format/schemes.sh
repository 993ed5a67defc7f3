#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The schemes in docs/FORMAT.md are those of the library: the bound of the header field, the table of hashes,
# and the names and numbers of tamis_scheme agree.
set -u
norm=$TAMIS_SOURCE_DIR/docs/FORMAT.md
bound=$(sed -nE 's/^\| 68 \| u32 \| scheme \| (1 to [0-9]+),.*/\1/p' "$norm")
# The row "5, 6" "bkdr31, bkdr63" has two schemes: makes a line of each, "5 bkdr31".
table=$(sed -n '/^## Schemes/,/^## Classic/p' "$norm" | grep -E '^\| [0-9]' | while IFS='|' read -r _ numbers names _; do
    paste -d ' ' <(tr -d ' ' <<< "$numbers" | tr ',' '\n') <(tr -d ' ' <<< "$names" | tr ',' '\n')
done)
code=$(sed -nE 's/^ *TAMIS_SCHEME_([A-Z0-9_]+) = ([1-9][0-9]*).*/\2 \1/p; /^ *TAMIS_SCHEME_[A-Z0-9_]+ =$/{N;s/^ *TAMIS_SCHEME_([A-Z0-9_]+) =\n *([1-9][0-9]*).*/\2 \1/p}' \
    "$TAMIS_SOURCE_DIR/include/tamis/hash.h" | tr 'A-Z_' 'a-z-')
[ "$(wc -l <<< "$code")" -ge 9 ] || { echo "tamis_scheme is not read: $code"; exit 1; }
[ "$table" = "$code" ] || { diff <(echo "$table") <(echo "$code"); exit 1; }
[ "$bound" = "1 to $(tail -n 1 <<< "$code" | cut -d ' ' -f 1)" ] || { echo "the header says $bound"; exit 1; }
