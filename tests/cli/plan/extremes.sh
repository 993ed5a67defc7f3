# SPDX-License-Identifier: BSD-2-Clause
# The limits of the options.
tamis plan --expect 1e12 --fpr 1e-26 | grep -c '^[* ] '
tamis plan --expect 1 --fpr 0.5 | grep -c '^\* '
tamis plan --expect 1e12 --fpr 50% | grep -c '^\* '
tamis plan --expect 1e12 --fpr 50% | grep -ciE '(nan|inf) '
