# SPDX-License-Identifier: BSD-2-Clause
# Every further occurrence goes to --duplicates, in input order.
printf 'a\nb\na\nc\nb\na\n' > in
tamis dedup --duplicates again in
echo ...
cat again
