# SPDX-License-Identifier: BSD-2-Clause
# The number of lines that would have been printed, including those passed on.
tamis gen urls 20000 > in
cat in in | tamis dedup --kind blocked --expect 1000 --on-full pass -q | wc -l > lines
cat in in | tamis dedup --kind blocked --expect 1000 --on-full pass --count -q | cmp - lines
cat in in | tamis dedup --kind blocked --expect 1000 --on-full pass --count | cmp - lines
