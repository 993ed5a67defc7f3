# SPDX-License-Identifier: BSD-2-Clause
# The union of filters with the same keys has no more keys than they have: the error of the estimate must not
# cause a remark.
for seed in 1 2 3; do
    for kind in classic blocked; do
        tamis gen words 4900 --seed $seed > keys
        tamis build -o a.tamis --kind $kind --expect 4900 --fpr 1e-3 keys
        cp a.tamis b.tamis
        tamis merge -o both.tamis a.tamis b.tamis b.tamis
        tamis info both.tamis | grep saturated
        tamis info --json both.tamis | awk -F '"added": ' '{ print ($2 + 0 <= 4900) ? "within" : $2 }'
    done
done
