# SPDX-License-Identifier: BSD-2-Clause
# Filters that the format cannot hold, damaged files, and wrong command lines: the output is unchanged.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
tamis gen words 400 > keys
tamis build -o a.tamis --kind classic --expect 1000 --fpr 1e-3 keys
cp a.tamis hurt.tamis
flip hurt.tamis 5000
dcso_file a.bloom
echo old > out
try() {
    tamis copy "$@"
    echo "$*: $? $(cat out)"
}
try -o out --format guava a.tamis
try -o out --format dcso a.tamis
try -o out --format guava a.bloom
try -o out hurt.tamis
try -o out keys
try -o out nowhere
try -o out
try -o out a.tamis a.bloom
try -o out --format zip a.tamis
try a.tamis
try -o directory/out a.tamis
ls -A
