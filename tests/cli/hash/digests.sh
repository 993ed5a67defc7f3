# SPDX-License-Identifier: BSD-2-Clause
# Every vector of other implementations: of XXH3 with seeds, SipHash with secrets, MurmurHash64A twice and
# FNV-1.
golden=$TAMIS_SOURCE_DIR/tests/golden/hash_vectors.tsv
# The words are numbers in the table: their bytes are printed from the last to the first.
turn() { sed 's/\(..\)\(..\)\(..\)\(..\)\(..\)\(..\)\(..\)\(..\)/\8\7\6\5\4\3\2\1/g'; }
grep -v '^#' "$golden" | cut -f 1-3 | sort -u | while IFS= read -r kind; do
    IFS=, read -r scheme seed secret <<< "${kind//$'\t'/,}"
    options=(--scheme "$scheme" --hex)
    if [ "$scheme" = sip ]; then
        printf '%b' "$(sed 's/../\\x&/g' <<< "$secret")" > secret
        options+=(--secret-file secret)
    elif [ "$scheme" = xxh3 ]; then
        options+=(--seed "$seed")
    fi
    words=5,6
    [ "$scheme" != fnv-dcso ] || words=5 # the other is none
    grep -F "$kind"$'\t' "$golden" > rows
    cut -f 4 rows | tamis hash "${options[@]}" | cmp - <(cut -f "$words" rows | tr -d '\t' | turn)
    echo "$scheme ${seed} ${#secret}: $(wc -l < rows)"
done
# Without --scheme it is xxh3 with seed 0, or sip where there is a secret.
tamis hash a | cmp - <(tamis hash --scheme xxh3 --seed 0 a)
tamis hash --secret-file secret a | cmp - <(tamis hash --scheme sip --secret-file secret a)
