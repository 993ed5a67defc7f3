# SPDX-License-Identifier: BSD-2-Clause
# More keys than planned: a remark, and the filter is marked.
for i in 1 2; do
    tamis gen words 1000 --seed $i > keys
    tamis build -o $i.tamis --kind classic --expect 1000 --fpr 1e-3 keys
done
tamis merge -o both.tamis 1.tamis 2.tamis
echo $?
tamis merge -q -o both.tamis 1.tamis 2.tamis
tamis info both.tamis | grep saturated
