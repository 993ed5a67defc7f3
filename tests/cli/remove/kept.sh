# SPDX-License-Identifier: BSD-2-Clause
# Records that were added so often that nobody knows how often stay. They are counted as kept, not as removed.
json() { python3 -c 'import json, sys; o = json.load(sys.stdin); print([o[m] for m in ("records", "absent", "removed", "kept")], [(f["file"], f["removed"], f["kept"]) for f in o.get("files", [])])'; }
for kind in cuckoo counting; do
    echo "$kind"
    times=$([ $kind = cuckoo ] && echo 4 || echo 15)
    for ((i = 1; i <= times; i++)); do echo often; done > often
    printf '%s\n' once twice twice | cat - often | tamis build -o f.tamis --kind $kind --expect 100 --fpr 0.001
    printf '%s\n' often once > a
    printf '%s\n' twice often none > b
    tamis remove --json f.tamis a b 2>&1 | json
    tamis check f.tamis -k often -k once -k twice
    tamis remove f.tamis a
    tamis remove --stats f.tamis a b 2>&1 | grep -E '^(records|absent|removed|kept|file|a|b) '
done
