# SPDX-License-Identifier: BSD-2-Clause
# What is not a whole filter, is not there, or is held stays as it was.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
tamis gen words 400 > keys
tamis build -o a.tamis --kind classic --expect 1000 --fpr 1e-3 keys
cp a.tamis hurt.tamis
flip hurt.tamis 5000
cp hurt.tamis was
tamis clear nowhere keys . hurt.tamis a.tamis
echo $?
cmp hurt.tamis was
tamis info a.tamis | grep 'keys  '
tamis clear
echo $?
ls -A
chmod 444 a.tamis
plainly tamis clear a.tamis
echo "$?"
# Another process holds it.
exec 8> .a.tamis.tamis-lock
flock 8
echo 123 >&8
chmod 644 a.tamis
tamis clear --lock-wait 0 a.tamis
echo $?
