# SPDX-License-Identifier: BSD-2-Clause
# The number of unique records alone; duplicates may be written at the same time.
printf 'a\nb\na\n' > in
tamis dedup --count in
tamis dedup --count --duplicates again in
cat again
