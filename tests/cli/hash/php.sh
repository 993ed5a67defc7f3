# SPDX-License-Identifier: BSD-2-Clause
# Every hash that PHP 8.2 made, and the positions that follow from them.
golden=$TAMIS_SOURCE_DIR/tests/golden/php8-bkdr.tsv
grep -v '^#' "$golden" | cut -f 1 > keys
for half in 1 2; do
    scheme=$([ $half = 1 ] && echo bkdr31 || echo bkdr63)
    grep -v '^#' "$golden" | cut -f 2- | sed "s/[0-9]*,[0-9]*/[&]/g" |
        sed "s/\[\([0-9]*\),\([0-9]*\)\]/\\$half/g" > want
    tamis hash --scheme $scheme --hex --probes 16 < keys | cmp - want && echo "$scheme: $(wc -l < want)"
    # A shell's 63 bits are enough for these.
    while read -r -a hashes; do
        for hash in "${hashes[@]}"; do printf '\t%s' $((hash % 35000000)); done
        echo
    done < want | paste -d '' want - > positions
    tamis hash --scheme $scheme --hex --probes 16 --bits 35M < keys | cmp - positions && echo positions
done
