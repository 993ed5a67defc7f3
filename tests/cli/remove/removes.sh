# SPDX-License-Identifier: BSD-2-Clause
# Records are removed from filters of kinds exact and cuckoo; the others stay, and so do other properties of the file.
seq 1 1000 > all
seq 1 3 1000 > gone
for kind in exact cuckoo; do
    echo "$kind"
    tamis build -o f.tamis --kind $kind --expect 1000 --label team=mail all
    tamis remove --json f.tamis missing-input 2> err; echo "status $?"
    tamis check -v f.tamis all | wc -l
    tamis remove --json f.tamis gone - < gone 2> json; echo "status $?"
    python3 -c 'import json; o = json.load(open("json")); print(o["records"], o["absent"], o["removed"], o["kind"])'
    tamis check -v f.tamis all | cmp - gone && tamis check f.tamis all | wc -l
    tamis info f.tamis | grep -E 'kind|team|slots|keys'
    tamis verify f.tamis
done

# Keys are made as for add.
printf 'a\t1\nb\t2\n' | tamis build -o keys.tamis --kind cuckoo --expect 10 --key field:2
printf '2\n7\n' | tamis remove --stats keys.tamis 2>&1 | grep -E '^(records|absent|removed) '
tamis check keys.tamis -k 1 -k 2

# Kind cuckoo stores a copy each time, also from a pipe whose records are counted first.
printf '%s\n' x x y | tamis build -o twice.tamis --kind cuckoo --expect 10
echo x | tamis remove twice.tamis
tamis check twice.tamis -k x -k y
echo x | tamis remove twice.tamis
tamis check twice.tamis -k x -k y
printf '%s\n' x x y | tamis build -o piped.tamis --kind cuckoo
echo x | tamis remove piped.tamis
tamis check piped.tamis -k x -k y
