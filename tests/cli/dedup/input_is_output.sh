# SPDX-License-Identifier: BSD-2-Clause
# An output that is an input too is refused, by whatever name, and nothing is harmed.
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
