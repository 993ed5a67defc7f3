# SPDX-License-Identifier: BSD-2-Clause
# A full filter: the message names the record, and says that nothing was saved.
printf '%s\n' a b > in
for kind in classic blocked fingerprint; do
    tamis build -o f.tamis --expect 3 --kind $kind --frozen in
    cp f.tamis before
    printf '%s\n' a c d e f g h i j k l m n o p q r s t u v w x y z {1..200} | tamis add f.tamis -q
    echo "status $?"
    cmp f.tamis before
done
printf '%s\n' {1..300} | tamis add f.tamis --print fresh | head -n 1
echo "status ${PIPESTATUS[1]}"
cmp f.tamis before
ls -A
