# SPDX-License-Identifier: BSD-2-Clause
# The positions are the bits that Guava 31.1 set: its filters, rebuilt from them.
golden=$TAMIS_SOURCE_DIR/tests/golden/guava-31.1.tsv
rebuild() { # STRATEGY PROBES LONGS: positions on standard input, the bytes of writeTo on standard output
    local words=() digest positions i
    while read -r digest positions; do
        for i in $positions; do ((words[i >> 6] |= 1 << (i & 63))); done
    done
    printf '%02x%02x%08x' "$1" "$2" "$3"
    for ((i = 0; i < $3; i++)); do printf %016x "${words[i]:-0}"; done
}
grep ^filter "$golden" | while IFS=$'\t' read -r _ funnel _ _ _ keys written _; do
    probes=$((0x${written:2:2})) longs=$((0x${written:4:8}))
    options=(--type "$funnel")
    [ "$funnel" = utf8 ] && options+=(--hex)
    tr , '\n' <<< "$keys" | tamis hash --scheme guava64 "${options[@]}" --bits $((64 * longs)) --probes $probes |
        rebuild 1 $probes $longs | cmp - <(printf %s "$written") && echo "$funnel"
done | sort | uniq -c | tr -s ' '
# Filters of 10 keys at 1 % that 31.1 wrote, the older strategy too.
try() { # STRATEGY WRITTEN OPTION... KEY...
    local strategy=$1 written=$2
    shift 2
    tamis hash --bits 128 --probes 7 "$@" | rebuild "$strategy" 7 2 | cmp - <(printf %s "$written") && echo "$*"
}
try 1 01070000000200001555000000000000000000000000 --scheme guava64 --type utf16 foo
try 1 01070000000200000000000000000100000000000000 --scheme guava64 --type int64 42
try 1 01070000000220000080000200000800002000088000 --scheme guava64 --type int32 42
try 0 000700000002041000410210000040010c0000000084 --scheme guava32 foo bar
