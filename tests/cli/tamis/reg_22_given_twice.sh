# SPDX-License-Identifier: BSD-2-Clause
# Of an option given twice the last value holds, with every command; those that may be given again add up.
seq 3 > a; seq 2 4 > b; printf '1\tx\n1\ty\n1\tx\n' > t
tamis dedup -o lost a -o kept --fpr 1e-3 --fpr 1e-9 && cat kept
tamis dedup --mark=x --mark --key field:1 --key field:2 t
tamis build -o f.tamis --expect 5 --expect 100 --kind classic --kind blocked a --type int32 --type int64
tamis info --json f.tamis | grep -oE '"(kind|capacity|type)": [^,]*'
tamis check --threads 1 --threads 2 -f f.tamis -k 1 -k 9 -k 3
tamis plan --expect 1e6 --expect 1000 --fpr 0.1 --fpr 1e-3 --json | grep -oE '"(expect|fpr)": [^,]*' | head -n 2
tamis gen words 2 --seed 1 --seed 7 | cmp - <(tamis gen words 2 --seed 7)
tamis hash --scheme xxh3 --scheme guava64 x | cmp - <(tamis hash --scheme guava64 x)
tamis copy -o lost -o g.tamis f.tamis --format guava --format tamis && tamis diff -q f.tamis g.tamis
tamis merge -o lost -o h.tamis f.tamis g.tamis
tamis add f.tamis b --print none --print fresh
tamis audit f.tamis a --queries 1e9 --queries 1000 --json | grep -o '"queries": [0-9]*'
tamis dedup --quiet -q a --count --count
ls
