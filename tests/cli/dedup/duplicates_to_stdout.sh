# SPDX-License-Identifier: BSD-2-Clause
# Either side can be standard output.
printf 'a\nb\na\nc\nb\na\n' > in
tamis dedup -o once --duplicates - in
echo ...
cat once
tamis dedup -o - --duplicates again in | cmp once -
