# SPDX-License-Identifier: BSD-2-Clause
# A .tamis file stores that its keys are case-folded or trimmed: these options need not be given again.
printf 'Ada\nBob\n' > in
tamis build -o folded.tamis --ignore-case in
tamis build -o trimmed.tamis --trim in
tamis build -o both.tamis --ignore-case --trim in
tamis build -o plain.tamis in
for i in folded trimmed both plain; do
    tamis info $i.tamis | grep 'key text'
    tamis info --json $i.tamis | grep -oE '"key_type.*"trim": [a-z]*'
done
echo asked
printf 'ADA\nada\r\nBob\n' > ask
for i in folded trimmed both plain; do
    echo "$i: $(tamis check -c $i.tamis ask) $(tamis check -c $i.tamis -k ADA -k ' Bob') $(tamis check -c --key line $i.tamis ask)"
done
echo "lower case alone: $(tamis build -o lower.tamis <(echo ada); tamis check -c --ignore-case --trim lower.tamis ask)"
tamis audit --queries 1000 --json both.tamis in | grep -o '"missing": [0-9]*'
echo several
tamis check -f folded.tamis -f both.tamis ask
tamis check -f plain.tamis -f folded.tamis ask
tamis check -c --ignore-case -f plain.tamis -f folded.tamis ask
echo added
echo CARL | tamis add folded.tamis
echo ' aDA' | tamis add --print seen both.tamis
tamis check folded.tamis -k carl
tamis add --ignore-case plain.tamis in
tamis add --trim folded.tamis in
echo "status $?"
printf 'ADA\nDora\n' | tamis dedup --filter folded.tamis
printf 'X\n' | tamis dedup -q --ignore-case --filter new.tamis
printf 'x\ny\n' | tamis dedup -q --filter new.tamis
printf 'x\n' | tamis dedup --trim --filter new.tamis
echo "status $?"
echo copied and merged
tamis copy -o copy.tamis folded.tamis
for i in a b; do tamis build -o $i.tamis --kind blocked --expect 1000 --ignore-case in; done
tamis build -o c.tamis --kind blocked --expect 1000 --ignore-case --type utf16 in
tamis build -o d.tamis --kind blocked --expect 1000 in
tamis merge -o ab.tamis a.tamis b.tamis
tamis merge -o ac.tamis a.tamis c.tamis || echo refused
tamis merge -o ad.tamis a.tamis d.tamis || echo refused
for i in copy ab; do tamis info --json $i.tamis | grep -oE '"key_type.*"trim": [a-z]*'; done
