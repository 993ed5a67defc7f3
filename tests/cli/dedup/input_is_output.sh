# SPDX-License-Identifier: BSD-2-Clause
# An output that is also an input is refused, by any name, and no file changes.
printf 'a\nb\na\n' > in
ln in twin
ln -s in link
for output in in ./in twin link; do
    tamis dedup -o $output in
    echo "status $?"
done
tamis dedup --duplicates in in
echo "status $?"
tamis dedup < in >> in
echo "status $?"
cat in
ls -A
