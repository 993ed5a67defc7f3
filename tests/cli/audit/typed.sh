# SPDX-License-Identifier: BSD-2-Clause
# Typed keys and random keys of that type: no key is missing, the rate is kept, no random key is among the
# keys.
audit() {
    tamis audit --json "$@" | grep -oE '"(queries|hits|keys|missing|verdict)": [^,}]*' | tr '\n' ' '
    echo "${PIPESTATUS[0]}"
}
seq -f %05g 0 9999 > numbers
for type in int32 int64; do
    tamis build -o f.tamis --type $type --fpr 1e-9 --expect 20000 numbers
    # more than there are of as many digits: wider ones are looked up too, and 00007 is 7
    audit --type $type --queries 100000 f.tamis numbers
    audit --type $type --queries 1000 f.tamis
done
tamis build -o f.bloom --format guava --type int64 --fpr 1% numbers
audit --type int64 f.bloom numbers | sed 's/"hits": [0-9]*/"hits": N/'
audit f.bloom numbers | grep -o '"missing": [0-9]* ' | awk '{ print ($2 > 9000) }'

# of one byte there are 256 keys
for i in {0..255}; do printf '%02X\n' $i; done > digits
tamis build -o f.tamis --hex --fpr 1e-9 --expect 300 digits
audit --hex --queries 20000 f.tamis digits
printf '%s\n' caf{é,É}{é,€,😀,$'\u0800',$'\ud7ff',$'\U10000',$'\U10ffff'} > words
tamis build -o f.tamis --type utf16 --fpr 1e-9 --expect 300 words
audit --type utf16 --queries 20000 f.tamis words
audit --type utf16 --queries 20000 f.tamis
tr '\n' '\0' < words | audit -z --type utf16 --queries 1000 f.tamis -

try() {
    tamis audit "$@"
    echo "$*: $?"
}
tamis build -o u.tamis --hex digits
try --type int32 u.tamis words
printf '1\n2\n3,5\n' | try --type int64 u.tamis -
try --hex --type utf8 f.tamis words
try --hex f.tamis
try --type int32 --queries 3e9 u.tamis
