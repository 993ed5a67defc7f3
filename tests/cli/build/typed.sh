# SPDX-License-Identifier: BSD-2-Clause
# Typed keys, or keys in hexadecimal digits: the filter has their bytes, and equal keys count once.
made() { # OPTIONS...: builds of standard input and says how many are in it
    tamis build -o f.tamis --kind fingerprint --expect 100 --json "$@" 2>&1 | sed 's|"files".*||' | grep -oE '"(records|unique)": [0-9]+' | tr '\n' ' '
}
has() { # HEX...: which of these bytes are keys of the filter
    tamis check --hex f.tamis "${@/#/--lookup=}"
}
printf '%s\n' 7 +7 007 -7 0 -0 | made --type int32; has 07000000 f9ffffff 00000000 37 0700000000000000
printf '%s\n' 7 -7 9223372036854775807 | made --type int64; has 0700000000000000 f9ffffffffffffff ffffffffffffff7f 07000000
printf 'a\n\303\251\n\360\237\230\200\n\n' | made --type utf16; has 6100 e900 3dd800de '' 61 c3a9
printf 'a\n\303\251\n' | made --type utf8; has 61 c3a9 6100
printf '%s\n' 61 6A 6a '' | made --hex; has 61 6a '' 3661
printf '%s\n' 61 | made --hex --type bytes; has 61
printf '7\0007\0008\0' | made -z --type int32; has 07000000 08000000

# counted as keys, of files that are read twice
for i in 7 07 007; do seq -f "$i%03g" 0 999; done > in
tamis build -o f.tamis --type int64 --json in 2>&1 | sed 's|"files".*||' | grep -oE '"(records|unique)": [0-9]+' | tr '\n' ' '
tamis build -o f.tamis --json in 2>&1 | sed 's|"files".*||' | grep -oE '"(records|unique)": [0-9]+'
