# SPDX-License-Identifier: BSD-2-Clause
# The number is that of the lines that would have been printed, those passed on included.
tamis gen urls 20000 > in
cat in in | tamis dedup --kind blocked --expect 1000 --on-full pass -q | wc -l > lines
cat in in | tamis dedup --kind blocked --expect 1000 --on-full pass --count -q | cmp - lines
cat in in | tamis dedup --kind blocked --expect 1000 --on-full pass --count | cmp - lines
