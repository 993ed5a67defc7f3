# SPDX-License-Identifier: BSD-2-Clause
# A wrong --key is an error of every command that reads records, not the answer that no key is there.
run() { "$@"; echo "exit $?"; }
for i in 1 2 3; do echo "{\"id\":$i}"; done > in
tamis build -o f.tamis --key json:/id in
tamis build -o g.tamis --key json:/id in
cp f.tamis before.tamis
for options in '' -v -c -q -vq --stats; do
    echo "check $options"
    run tamis check $options --key json:/typo f.tamis in 2>&1 | grep -v '^rate\|[0-9] *$'
done
echo several
run tamis check -f f.tamis -f g.tamis --key json:/typo in
run tamis check --key json:/typo --missing pass f.tamis in
echo add
for print in none fresh seen; do run tamis add --print $print --key json:/typo f.tamis in; done
cmp f.tamis before.tamis
echo audit
run tamis audit --key json:/typo f.tamis in
