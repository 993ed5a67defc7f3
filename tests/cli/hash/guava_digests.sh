# SPDX-License-Identifier: BSD-2-Clause
# Every digest that Guava 31.1 made of bytes, texts and numbers.
golden=$TAMIS_SOURCE_DIR/tests/golden/guava-31.1.tsv
# check KIND OPTION...: keys of that kind on standard input, their digests from the table.
check() {
    local kind=$1
    shift
    awk -F'\t' -v kind="$kind" '$1 == kind { print $3 }' "$golden" > want
    for scheme in guava64 guava32; do
        tamis hash --scheme $scheme "$@" < keys | cmp - want && echo "$kind, $scheme: $(wc -l < want)"
    done
}
keys_of() { awk -F'\t' -v kind="$1" '$1 == kind { print $2 }' "$golden" > keys; }
keys_of bytes
check bytes --hex
keys_of utf8
check utf8 --hex --type utf8
check utf16 --hex --type utf16 # a row of utf16 follows that of the same text in utf8
keys_of utf16
check utf16 --hex
for type in int32 int64; do
    keys_of $type
    check $type --type $type
done
