# SPDX-License-Identifier: BSD-2-Clause
# Without --expect: what grows, and why the others do not.
tamis plan > out
grep -E '^(records|  (classic|blocked))' out
grep -oE '^\* [a-z]+' out
tamis plan --kind exact | grep -oE '^\* [a-z]+'
