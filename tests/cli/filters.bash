# SPDX-License-Identifier: BSD-2-Clause
# Files for cases about filters: source "$TAMIS_SOURCE_DIR/tests/cli/filters.bash".

# golden TABLE LINE FIELD FILE: makes the file whose bytes the table has in hexadecimal.
golden() {
    local hex
    hex=$(sed -n "$2p" "$TAMIS_SOURCE_DIR/tests/golden/$1" | cut -f "$3")
    printf '%b' "$(sed 's/../\\x&/g' <<< "$hex")" > "$4"
}

# Made by DCSO's bloom: for 10 keys at 0.01, with foo and bar; and for 10 at 0.001, with user data.
dcso_file() { golden dcso-0.2.4.tsv 2 5 "$1"; }
dcso_file_with_data() { golden dcso-0.2.4.tsv 13 5 "$1"; }

# Made by Guava for 10 strings at 0.03.
guava_file() {
    golden guava-31.1.tsv "$(grep -nP -m 1 '^filter\tutf8\t10\t' "$TAMIS_SOURCE_DIR/tests/golden/guava-31.1.tsv" | cut -d : -f 1)" 7 "$1"
}

# flip FILE BYTE: changes the lowest bit of a byte.
flip() {
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf "\\x$(printf %x $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# Removes the times of `tamis info`, and process ids.
timeless() { sed 's/^\(  created  *\).*/\1TIME/; s/"created": [0-9]*/"created": TIME/'; }

# plainly COMMAND...: runs the command so that permissions apply to it, even as root.
plainly() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --bounding-set -dac_override,-dac_read_search "$@"
    else
        "$@"
    fi
}
