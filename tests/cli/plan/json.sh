# SPDX-License-Identifier: BSD-2-Clause
# One object; kinds that are impossible have the reason.
tamis plan --json --expect 1e6 > out
grep -E '^  "(expect|fpr|memory_limit)"' out
grep -c '"possible": true' out
grep -c '"chosen": true' out
tamis plan --json | grep -E '"(chosen": "|why_not)|expect'
