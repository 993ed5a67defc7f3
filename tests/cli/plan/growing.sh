# SPDX-License-Identifier: BSD-2-Clause
# Without --expect: the kinds that grow, and the reason why the others cannot be used.
tamis plan > out
grep -E '^(records|  (classic|blocked))' out
grep -oE '^\* [a-z]+' out
tamis plan --kind exact | grep -oE '^\* [a-z]+'
