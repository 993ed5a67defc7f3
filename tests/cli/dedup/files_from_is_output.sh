# SPDX-License-Identifier: BSD-2-Clause
# The list of --files-from is not an output, whatever it is called: nothing is overwritten.
echo a > in
echo in > list
cp list before
ln list twin
ln -s list link
try() {
    "$@"
    echo "$?"
    cmp list before
}
for output in list ./list twin link; do
    try tamis dedup --files-from list -o $output
done
try tamis dedup --files-from list -o once --duplicates list
try tamis dedup --files-from list --filter list
try tamis dedup --files-from - -o list < list
tamis dedup --files-from list >> list
tamis dedup --files-from list --count >> list
try tamis build --files-from list -o link
try tamis build -q --files-from list -o f.tamis
tamis check --files-from list f.tamis >> list
cmp list before
ls
tamis dedup --files-from list -o once < list
