# SPDX-License-Identifier: BSD-2-Clause
# Differences are named: parameters, bits, keys; labels and times do not count.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
tamis gen words 1000 > keys
head -n 600 keys > fewer
printf '%s' 0123456789abcdef > secret
printf '%s' 0123456789abcdeF > other
build() { tamis build -o "$1.tamis" --expect 2000 "${@:2}"; }
build a --kind classic --fpr 1e-3 --label a=b keys
build same --kind classic --fpr 1e-3 --data-version 8 keys
build less --kind classic --fpr 1e-3 fewer
build blocked --kind blocked --fpr 1e-3 keys
build rate --kind classic --fpr 1e-4 keys
build seed --kind classic --fpr 1e-3 --seed 5 keys
build keyed --kind classic --fpr 1e-3 --secret-file secret keys
build keyed2 --kind classic --fpr 1e-3 --secret-file other keys
build table --kind fingerprint --fpr 1e-6 keys
build table2 --kind fingerprint --fpr 1e-6 fewer
try() {
    tamis diff "$@"
    echo "$*: $?"
}
try a.tamis a.tamis
try a.tamis same.tamis
try a.tamis less.tamis
try less.tamis a.tamis
for b in blocked rate seed keyed table; do try a.tamis $b.tamis; done
try keyed.tamis keyed2.tamis
try table.tamis table.tamis
try table.tamis table2.tamis
try -q a.tamis same.tamis
try -q a.tamis less.tamis
tamis diff --json a.tamis less.tamis
tamis diff --json keyed.tamis keyed2.tamis
tamis diff --json table.tamis table2.tamis
