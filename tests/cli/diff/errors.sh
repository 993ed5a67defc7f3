# SPDX-License-Identifier: BSD-2-Clause
# A file that is not a whole filter is an error, not a difference.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
tamis gen words 1000 > keys
tamis build -o a.tamis --kind classic --expect 2000 --fpr 1e-3 keys
cp a.tamis hurt.tamis
flip hurt.tamis 5000
try() {
    tamis diff "$@"
    echo "$*: $?"
}
try a.tamis hurt.tamis
try hurt.tamis a.tamis
try a.tamis nowhere
try keys a.tamis
try a.tamis .
try a.tamis
try a.tamis a.tamis a.tamis
try
try -q --json a.tamis a.tamis
