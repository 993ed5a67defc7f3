# SPDX-License-Identifier: BSD-2-Clause
# A last line without a newline is a record, written as it is unless another follows it.
printf 'a\nb' > one
printf 'b\na\nc' > two
tamis dedup one two
echo '|'
tamis dedup two one
echo '|'
tamis dedup one
