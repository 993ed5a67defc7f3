# SPDX-License-Identifier: BSD-2-Clause
# The file of the secret is refused as an output, by any name: no file is created or overwritten.
head -c 32 /dev/zero | tr '\0' k > key
cp key before
ln key twin
ln -s key link
echo a > in
try() {
    tamis dedup --secret-file key "$@" in
    echo "$*: $?"
    cmp key before
}
for output in key ./key twin link; do
    try -o $output
    try -o once --duplicates $output
done
tamis dedup --secret-file link -o key in
echo "$?"
tamis dedup --secret-file key in >> key
echo "$?"
tamis dedup --secret-file key --count in >> key
echo "$?"
tamis dedup --secret-file key -o /dev/stdout in >> link
echo "$?"
cmp key before
ls
tamis dedup --secret-file key -o /dev/null in
tamis dedup --secret-file /dev/stdin in < key
