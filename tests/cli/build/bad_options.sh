# SPDX-License-Identifier: BSD-2-Clause
# What makes no sense is refused before anything is read or made.
echo a > in
mkdir directory
head -c 32 /dev/zero > secret
try() {
    tamis build "$@" < /dev/null
    echo "status $?"
}
try in
try -o - in
try -o directory in
try -o /dev/full in
try -o in in
try -o x/y in
try -o f in missing
try -o f directory
try -o f ''
try -o f --label colour in
try -o f --label =blue in
try -o f --label a=1 --label b=2 --label a=3 in
try -o f --data-version seven in
try -o f --expect 0 in
try -o f --fpr 1 in
try -o f --exact --fpr 1e-3 in
try -o f --exact --kind classic in
try -o f --memory 1 --expect 1e6 in
try -o f --scheme sip in
try -o f --scheme xxh3 --secret-file secret in
try -o secret --secret-file secret in
try -o f --secret-file - in
try -o f --scheme sip --seed 1 --secret-file secret in
try -o f --format guava --kind blocked in
try -o f --format dcso --scheme guava64 in
try -o f --max-record 1 secret
ls -A
