# SPDX-License-Identifier: BSD-2-Clause
# What each type hashes, as bytes in hexadecimal.
same() { # TYPE KEY HEX
    tamis hash --type "$1" -- "$2" | cmp - <(tamis hash --hex -- "$3") && echo "$1 $2"
}
same bytes '' ''
same bytes foo 666F6f
same utf8 é c3a9
same utf16 '' ''
same utf16 é€ e900ac20
same utf16 😀 3dd800de
same int32 0 00000000
same int32 -1 ffffffff
same int32 +42 2a000000
same int32 0042 2a000000
same int32 2147483647 ffffff7f
same int32 -2147483648 00000080
same int64 -1 ffffffffffffffff
same int64 9223372036854775807 ffffffffffffff7f
same int64 -9223372036854775808 0000000000000080
tamis hash --type utf16 --hex c3a9 | cmp - <(tamis hash --hex e900)
tamis hash --type utf8 --hex 6100c3a9 | cmp - <(tamis hash --hex 6100c3a9)
