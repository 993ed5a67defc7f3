# SPDX-License-Identifier: BSD-2-Clause
# Nothing fits: the table is printed anyway, and the error says how much memory is needed.
tamis plan --expect 1e9 --fpr 1e-9 --memory 1MiB > out
echo "status $?"
grep -cE 'more than --memory$' out
grep -E '^(memory|choice)  ' out
tamis plan --expect 1e9 --fpr 1e-9 --memory 1MiB --json 2> /dev/null | grep -E '^  "(chosen|memory_limit)"'
