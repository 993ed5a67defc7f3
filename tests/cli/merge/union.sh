# SPDX-License-Identifier: BSD-2-Clause
# The union is the filter that would have been built from all keys: of any number of filters, also if the
# target is one of them.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
for i in 1 2 3 4 5; do tamis gen words 400 --seed $i > keys$i; done
printf '%s' 0123456789abcdef > secret
same() { cmp <(tail -c +4097 "$1") <(tail -c +4097 "$2") && echo same; }
for kind in "classic --seed 3" blocked "classic --secret-file secret"; do
    for i in 1 2 3 4 5; do
        tamis build -o $i.tamis --kind $kind --expect 5000 --fpr 1e-3 --label from=$i --data-version $i keys$i
    done
    tamis build -o all.tamis --kind $kind --expect 5000 --fpr 1e-3 keys1 keys2 keys3 keys4 keys5
    tamis merge -o union.tamis 1.tamis 2.tamis 3.tamis 4.tamis 5.tamis
    same union.tamis all.tamis
    tamis info union.tamis | timeless | grep -E 'labels|version|keys|created'
    tamis merge -o 1.tamis 1.tamis 2.tamis 3.tamis 3.tamis 4.tamis 5.tamis
    same 1.tamis union.tamis
    tamis merge -o 5.tamis 4.tamis 5.tamis 3.tamis 1.tamis
    same 5.tamis all.tamis
done
tamis merge -o one.tamis 2.tamis && same one.tamis 2.tamis
ls -A
