# SPDX-License-Identifier: BSD-2-Clause
# A filter made by build without options accepts more keys and unions. A number of keys that is too small or
# far too large does no harm.
seq 20000 > a
seq 15000 70000 > b
tamis build -o a.tamis a
tamis build -o b.tamis b
tamis merge -o both.tamis a.tamis b.tamis
cat a b | tamis check -v both.tamis | wc -l
tamis info both.tamis | grep -E 'promised'
tamis add a.tamis b
cat a b | tamis check -v a.tamis | wc -l
tamis info a.tamis | grep -E 'promised'
cmp <(tamis check both.tamis a b) <(tamis check a.tamis a b)
for fpr in 1e-2 1e-4 1e-6 1e-9; do
    tamis build -o few.tamis --expect 100 --fpr $fpr a
    tamis check -c few.tamis a
    echo 1 | tamis build -o none.tamis --fpr $fpr
    tamis add none.tamis a
    tamis check -c none.tamis a
    tamis audit --queries 200000 none.tamis a | grep '^  rate'
    tamis dedup --expect 100 --fpr $fpr a | cmp - a
done
tamis build -o large.tamis --expect 1e10 a
tamis build -o pipe.tamis --expect 1e10 < <(cat a)
[ "$(stat -c %s large.tamis)" -lt 1000000 ] && [ "$(stat -c %s pipe.tamis)" -lt 2000000 ] || ls -l
tamis check -c large.tamis a && tamis check -c pipe.tamis a
# A frozen filter is as small as possible, and does not grow.
tamis build --frozen -o c.tamis a
tamis add c.tamis b
echo "status $?"
tamis merge -o d.tamis c.tamis b.tamis
echo "status $?"
tamis merge -o d.tamis b.tamis c.tamis && cat a b | tamis check -v d.tamis | wc -l
# The one limit.
tamis build --memory 1K -o e.tamis a
echo "status $?"
tamis build --memory 100K --expect 1000 -o e.tamis b
echo "status $?"
tamis build --kind blocked --expect 1000 -o e.tamis a
echo "status $?"
[ ! -e e.tamis ]
