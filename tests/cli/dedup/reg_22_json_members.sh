# SPDX-License-Identifier: BSD-2-Clause
# --json has the same members for one input, several and standard input, with every command that reads
# records.
seq 3 > a; seq 2 4 > b
members() { tr -d '\n' | python3 -c 'import json,sys; d=json.load(sys.stdin); print(sorted(d), [sorted(f) for f in d["files"]][0], [f["file"] for f in d["files"]], file=sys.stderr)' 2>&1; }
tamis build -o f.tamis --expect 100 a
same() {
    for inputs in a 'a b' ''; do "$@" $inputs --json < b 2>&1 > /dev/null | members; done > got
    sed 's/.*\] //' got; sed 's/\(.*\] \).*/\1/' got | sort -u | wc -l
}
same tamis dedup
same tamis check f.tamis
same tamis add f.tamis
same tamis build --expect 100 -o g.tamis
tamis check -k 1 f.tamis --json 2>&1 > /dev/null | grep -o '"files": [^ ]*'
tamis dedup a --stats 2>&1 > /dev/null | grep -c '^file'
ls got
