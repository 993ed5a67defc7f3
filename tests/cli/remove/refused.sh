# SPDX-License-Identifier: BSD-2-Clause
# What remove refuses, and full filters of kind cuckoo: the message says what to do, and nothing is saved.
try() { "$@"; echo "status $?"; }
seq 100 > in
for kind in classic blocked fingerprint; do
    tamis build -o f.tamis --kind $kind in
    try tamis remove f.tamis in
done
try tamis remove
try tamis remove none.tamis in
try tamis remove redis://127.0.0.1:1/seen in
tamis build -o c.tamis --kind cuckoo --expect 100 in
cp c.tamis before
try tamis remove c.tamis missing-input
try tamis remove c.tamis c.tamis
echo 101 | try tamis add c.tamis
try tamis merge -o m.tamis c.tamis before
cmp c.tamis before
seq 70000 | try tamis build -o d.tamis --kind cuckoo --frozen
try tamis build -o d.tamis --kind cuckoo --expect 50 in
try tamis build -o d.tamis --kind cuckoo --fpr 1e-20 in
try tamis build -o d.bloom --kind cuckoo --format dcso in
try tamis diff c.tamis before
echo 7 | tamis remove c.tamis
try tamis diff c.tamis before
ls -A
