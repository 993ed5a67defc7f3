# SPDX-License-Identifier: BSD-2-Clause
# A key that is not of its type is named, with the place; those before it are answered.
try() {
    tamis hash --scheme fnv-dcso "$@"
    echo "${*@Q}: $?"
}
try --hex 61 6
try --hex 61 6162xy 62
try --hex '61 62'
try --type int32 1 2147483648
try --type int32 -- -2147483649
try --type int64 9223372036854775808
try --type int64 -- -9223372036854775809
try --type int64 99999999999999999999999999
for key in '' - + 1.5 1e3 ' 1' 0x10; do try --type int32 -- "$key"; done < <(echo 12x)
try --type utf8 a $'b\xff'
try --type utf16 $'\xed\xa0\x80'
try --type utf8 --hex c3 < /dev/null
printf 'a\nb\n\xe2\x82\nc\n' | try --type utf16
printf '1\n2\n\n' | try --type int32
printf '1\n2\r\n' | try --type int32
(yes a | head -n 1000; printf '\xc0\x80') | try --type utf8 | sort | uniq -c | tr -s ' '
