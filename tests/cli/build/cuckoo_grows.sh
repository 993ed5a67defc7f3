# SPDX-License-Identifier: BSD-2-Clause
# Kind cuckoo without --expect grows by sub-filters, from files and from pipes. All records stay, also after removals,
# and the promised rate holds. With --expect or --frozen it does not grow.
try() { "$@"; echo "status $?"; }
seq 1000 > few
seq 60000 > many
tamis build -o file.tamis --kind cuckoo --fpr 1% few
tamis build -o pipe.tamis --kind cuckoo --fpr 1% < <(cat many)
tamis info file.tamis pipe.tamis | grep -vE 'created|rate now'
seq 1001 60000 | tamis add file.tamis
for f in file pipe; do
    tamis check -c $f.tamis many
    seq 59990 | tamis remove $f.tamis
    tamis check $f.tamis -k 59990 -k 59991 -k 60000
    tamis check -c $f.tamis many | awk '{ print $1 < 10 + 60000 / 100 }'
    tamis add $f.tamis many && tamis verify $f.tamis
    tamis info --json $f.tamis | grep -oE '"(capacity|bits|slot_bits|subfilters|expansion|added)": [^,]*' | tr '\n' ' '
    echo
done
tamis audit --queries 1e5 file.tamis many | grep -E 'promised|missing|kept'
tamis copy --gzip -o copy.gz file.tamis && tamis diff copy.gz file.tamis | head -n 3 | tail -n 1
for i in 1 2 3 4 5; do echo often; done | tamis add pipe.tamis
echo often | tamis remove pipe.tamis
tamis build -o frozen.tamis --kind cuckoo --frozen few && tamis info frozen.tamis | grep -E 'capacity|slots|sub'
try tamis add frozen.tamis many
try tamis build -o f.tamis --kind cuckoo --expect 500 few
try tamis build -o f.tamis --kind cuckoo --fpr 1e-16 few
try tamis build -o f.tamis --kind cuckoo --memory 20k many
ls -A
