#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# docs/FORMAT.md is complete: a reader written from it alone (tamis_reader.py) gives the answers of the
# library, false positives included, for filters of every kind and scheme and for the golden files, and
# refuses bad files.
# ctest: timeout=1200
set -u
here=$TAMIS_SOURCE_DIR/tests/format
golden=$TAMIS_SOURCE_DIR/tests/golden/format-1
export PYTHONDONTWRITEBYTECODE=1
for python in python3 /usr/bin/python3 ''; do
    [ -n "$python" ] && "$python" -c 'import xxhash' 2>/dev/null && break
done
[ -n "$python" ] || { echo "python3 with xxhash: not installed (python3-xxhash)"; exit 77; }
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
secret=$(printf 'a secret of 25 characters' | od -An -v -tx1 | tr -d ' \n')

# query READER FILE: prints the reader's answers to the lookups in FILE.lookups. Names that end in -sip need
# the secret.
query() {
    local -a options=()
    [[ $2 == *-sip.tamis ]] && options=(--secret "$secret")
    cut -f 1 "${2%.tamis}.lookups" | "$python" "$1/tamis_reader.py" "${options[@]}" --lookup "$2"
}

# agree READER FILE: true if the answers are those of the library.
agree() { query "$1" "$2" | cmp -s - <(cut -f 2 "${2%.tamis}.lookups"); }

read -r absent present < <("$TAMIS_FORMAT_DIR/make_filters" "$work" "$seed" "$(scaled 100 1000 10000)") || exit 1
echo "$present false positives of $absent"
[ "$present" -gt 0 ] || exit 1
# Partitions are split only after millions of keys.
split=$(scaled '' exact-growing-split exact-growing-split)
[ -z "$split" ] || "$TAMIS_FORMAT_DIR/make_filters" "$work" "$seed" "$(scaled 0 1000 10000)" "$split" >"$work/made" || exit 1
small=()
for file in "$work"/*.tamis "$golden"/good/*.tamis; do
    agree "$here" "$file" || { echo "$(basename "$file"): the answers differ"; exit 1; }
    [ "$(stat -c %s "$file")" -gt 100000 ] || small+=("$file") # the reader checks every line, which is slow
done
"$python" "$here/tamis_reader.py" "${small[@]}" >"$work/said" || exit 1
[ "$(grep -c '"kind": "' "$work/said")" = "${#small[@]}" ] || { echo "not all of them are described"; exit 1; }
grep '"scheme": "fnv-dcso"' "$work/said" | grep -vq "$(printf 'user data' | od -An -v -tx1 | tr -d ' \n')" &&
    { echo "user data is not found"; exit 1; }
frozen=$(printf '%s\n' "${small[@]}" | grep -c -e '-frozen\.tamis$')
[ "$frozen" -ge 2 ] && [ "$(grep -e '-frozen"' "$work/said" | grep -c '"frozen": true')" = "$frozen" ] &&
    [ "$(grep -c '"frozen": true' "$work/said")" = "$frozen" ] || { echo "frozen filters are not known"; exit 1; }
[ "${#small[@]}" -gt 30 ] || { echo "${#small[@]} files are too few"; exit 1; }

# The reader refuses the bad files. tests/unit/test_golden_files.c has the library's messages about them.
bad=("$golden"/bad/*.tamis)
"$python" "$here/tamis_reader.py" "${bad[@]}" >"$work/out" 2>"$work/err"
[ $? = 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" = "${#bad[@]}" ] ||
    { echo "not all bad files are refused:"; cat "$work/out" "$work/err"; exit 1; }

# planted FILE 'sed expression': a reader with that mistake must give other answers.
planted() {
    mkdir -p "$work/planted"
    cp "$here/tamis_hashes.py" "$work/planted/"
    sed "$2" "$here/tamis_reader.py" >"$work/planted/tamis_reader.py"
    cmp -s "$here/tamis_reader.py" "$work/planted/tamis_reader.py" && { echo "not planted: $2"; exit 1; }
    agree "$work/planted" "$1" && { echo "$(basename "$1"): a mistake is not noticed: $2"; exit 1; }
}
planted "$golden/good/classic-xxh3.tamis" 's/y |= 1/y |= 2/'
planted "$golden/good/blocked-xxh3.tamis" 's/v ^ v >> 32/v/'
planted "$golden/good/fingerprint-xxh3.tamis" 's/1023, n - 1/1023, n + 9/'
planted "$golden/good/fingerprint-xxh3.tamis" 's/(line_number + g) % n/line_number/'
planted "$work/fingerprint-growing-redisbloom.tamis" 's/value >> above == wanted >> above/value == wanted/'
planted "$work/exact-growing-xxh3.tamis" 's/p = Y >> 128 - c/p = Y >> 127 - c \& 255/'
planted "$golden/good/fingerprint-parts.tamis" 's/Z = Y << c \&/Z = Y \&/'
planted "$golden/good/fingerprint-parts.tamis" 's/(line_number + g) % n/(line_number + g)/'
planted "$work/window-narrow.tamis" 's/lines \/\/ 2) + 1 - a/lines \/\/ 2) + 2 - a/'
planted "$work/window-narrow.tamis" 's/<= steps and/<= steps + 1 and/'
planted "$work/window-wide.tamis" 's/offset = 4 \* n/offset = 4 * n + 1/'
planted "$work/cuckoo-narrow.tamis" 's/F = 1 + mulhi/F = mulhi/'
planted "$work/cuckoo-narrow.tamis" 's/b \/\/ 2) + 1$/b \/\/ 2)/'
planted "$work/cuckoo-growing.tamis" 's/first = 2 \* mulhi(y, b \/\/ 2) if/first = mulhi(y, b) if/'
planted "$work/cuckoo-growing.tamis" 's/offset += cuckoo_bytes(h, buckets)/offset += 8 * buckets/'
planted "$work/counting-removed.tamis" 's/(p \& 4) \& 15/(p \& 4) \& 1/'
planted "$work/counting-xxh3.tamis" 's/for p in positions_blocked(self.header, x, y)/for p in positions_classic(self.header, x, y)/'
for entries in grown united; do # entries of several lengths
    planted "$golden/good/fingerprint-$entries.tamis" 's/value >> above == wanted >> above/value == wanted/'
done
if [ -n "$split" ]; then
    planted "$work/$split.tamis" 's/c += 4$/c += 3/'
    planted "$work/$split.tamis" 's/- (4 if split else 0)$//'
    planted "$work/$split.tamis" 's/(16 if is_split(h, q) else 1 for q in range(first))/(1 for q in range(first))/'
fi
exit 0
