# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# A measurement of the planned filter: the same keys, and so the same numbers, in every run.
tamis plan --measure --expect 20000 --fpr 1% --kind blocked
echo "status $?"
row() { tamis plan --measure "$@" | sed -n 2p; }
row --expect 20000 --fpr 1% --kind classic
row --expect 20000 --fpr 1% --kind classic --scheme guava64
row --expect 20000 --fpr 1% --kind classic --scheme sip
row --expect 1e9 --fpr 1% --kind classic
row --fpr 0.1%
row --expect 1000 --fpr 1e-5 --kind classic --scheme guava64
tamis plan --measure --expect 100M --fpr 1% --kind classic --scheme guava32 | grep -A1 '^Scaled down'
row --expect 20000 --kind exact
# A missed claim is not a broken promise.
tamis plan --measure --expect 20000 --fpr 1e-6 --kind classic --scheme bkdr63 | sed -n 2p
echo "status ${PIPESTATUS[0]}"
tamis plan --measure --expect 20000 --fpr 1% --kind classic --json
