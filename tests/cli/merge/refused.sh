# SPDX-License-Identifier: BSD-2-Clause
# Filters that cannot be merged: the message has the difference and the file, and the output is unchanged.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
tamis gen words 400 > keys
printf '%s' 0123456789abcdef > secret
printf '%s' 0123456789abcdeF > other
build() { tamis build -o "$1.tamis" --expect 1000 "${@:2}" keys; }
build a --kind classic --fpr 1e-3
build blocked --kind blocked --fpr 1e-3
build table --kind fingerprint --fpr 1e-3
build bits --kind classic --fpr 1e-4
build seed --kind classic --fpr 1e-3 --seed 9
build keyed --kind classic --fpr 1e-3 --secret-file secret
build keyed2 --kind classic --fpr 1e-3 --secret-file other
cp a.tamis hurt.tamis
flip hurt.tamis 5000
dcso_file a.bloom
echo old > out
try() {
    tamis merge -o out "$@"
    echo "$*: $? $(cat out)"
}
for other in blocked table bits seed keyed hurt; do try a.tamis a.tamis $other.tamis; done
try table.tamis a.tamis
try keyed.tamis keyed2.tamis
try hurt.tamis a.tamis
try a.tamis a.bloom
try a.tamis nowhere
try a.tamis keys
try nowhere
try
try --format guava a.tamis
tamis merge a.tamis a.tamis
ls -A
