# SPDX-License-Identifier: BSD-2-Clause
# The same file for both outputs is refused, by any name.
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
