# SPDX-License-Identifier: BSD-2-Clause
# Targets that cannot be written: a directory, a FIFO, standard output, a missing or read-only directory, a
# full disk.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
tamis gen words 400 > keys
tamis build -o a.tamis --kind classic --expect 100000 --fpr 1e-3 keys
mkdir directory closed
mkfifo fifo
try() {
    tamis merge -o "$1" a.tamis a.tamis
    echo "$1: $?"
}
try directory
try fifo
try -
try /dev/null
try missing/out
echo old > out
(
    ulimit -f 100
    try out
)
cat out
cp a.tamis out
chmod 640 out
try out
stat -c %a out
ln -s out link
try link
readlink link
chmod 555 closed
plainly tamis merge -o closed/out a.tamis
echo "$?"
chmod 444 out
plainly tamis merge -o out a.tamis
echo "$?"
ls -A . closed
