#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# bkdr31 and bkdr63, compared with PHP on random keys of any bytes and every length from 0 to 40. The seeds
# are integers, floats (from the 19th on) and infinite (from the 309th on, beyond the maximum of --probes).
set -u
command -v php >/dev/null || { echo "php: not installed (php-cli)"; exit 77; }
here=$TAMIS_SOURCE_DIR/tests/interop
tamis=$TAMIS_BUILD_DIR/bin/tamis
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"

# side_by_side BITS KEYS PROBES SIZE
side_by_side() {
    php "$here/bkdr.php" "$1" "$seed" "$2" "$3" "$4" >"$work/php" || exit 1
    cut -f 1 "$work/php" | "$tamis" hash --scheme "bkdr$1" --hex --probes "$3" --bits "$4" - >"$work/tamis" || exit 1
    cut -f 2- "$work/php" | cmp - "$work/tamis" || { echo "bkdr$1 differs, with $3 probes in $4 bits"; exit 1; }
    [ "$(wc -l <"$work/tamis")" = "$2" ] || { echo "bkdr$1: not $2 lines"; exit 1; }
}
for bits in 31 63; do
    side_by_side $bits 3000 24 350000000
    side_by_side $bits 200 255 21895
done
# One changed bit of one hash must be noticed.
sed '1,100s/\t1/\t2/' "$work/php" | cut -f 2- | cmp -s - "$work/tamis" && { echo "a mistake is not noticed"; exit 1; }
exit 0
