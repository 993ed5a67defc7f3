# SPDX-License-Identifier: BSD-2-Clause
# Records without a key are not in the filter, and a message says so. If no record has one, --key is wrong:
# nothing is written.
for i in 1 2 3; do echo "{\"id\":$i}"; done > in
echo '{}' > one
for reading in '< in' in '--expect 9 in' one; do
    eval "tamis build -o none.tamis --key json:/typo $reading"
    echo "$reading: $?"
done
tamis build -o none.tamis --key json:/typo -q in one
tamis build -o none.tamis --key json:/typo --json in 2>&1 | sed 's|"files".*\]|,|' | grep -o 'tamis: .*\|"missing": .\|"failed": .*'
echo '{' | tamis build -o none.tamis --key json:/typo --on-error skip - in
ls
tamis build -o some.tamis --key json:/id in one
tamis build -o some.tamis --key json:/id -q in one
tamis build -o some.tamis --key json:/id --stats in one 2>&1 | grep -c 'had no key'
echo wanted so
tamis build -o some.tamis --key json:/id --missing drop in one
tamis build -o empty.tamis --key json:/typo --missing drop in && tamis check -c empty.tamis in
echo "status $?"
tamis build -o empty.tamis --key json:/id < /dev/null && ls
echo add
cp some.tamis before.tamis
tamis add --key json:/typo some.tamis in
echo "status $?"
tamis add --key json:/id some.tamis one in
tamis add --key json:/id --print seen some.tamis one in
tamis add --key json:/id --print fresh some.tamis in one
tamis add --key json:/typo --print fresh some.tamis one
cmp some.tamis before.tamis
echo check
tamis check --key json:/id some.tamis in one
tamis check --key json:/id -v some.tamis in one
tamis check --key json:/typo -v some.tamis in
tamis check --key json:/id --missing drop some.tamis one
echo "status $?"
echo audit
tamis audit --queries 1e4 --key json:/id some.tamis <(cat in one) | grep -c keys
