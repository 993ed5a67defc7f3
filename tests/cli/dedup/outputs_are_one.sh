# SPDX-License-Identifier: BSD-2-Clause
# Both outputs in one file are refused, by whatever name.
echo a > in
echo old > file
ln file twin
tamis dedup -o file --duplicates file in
echo "status $?"
tamis dedup -o file --duplicates ./file in
echo "status $?"
tamis dedup -o file --duplicates twin in
echo "status $?"
cat file
