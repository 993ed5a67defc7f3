# SPDX-License-Identifier: BSD-2-Clause
# A record that is not a valid key: a message with position, reason and remedy, after the records before it
# are answered.
seq 100 > in
tamis build -o f.tamis --type int32 in
tamis build -o g.tamis --type int32 in
tamis build -o u.tamis --hex <(echo 61) # of no type that it tells
try() { # OPTIONS..., records from standard input
    tamis check "$@"
    echo "$*: $?"
}
printf '1\n2\n\n3\n' | try --type int32 f.tamis
printf '1\r\n2\r\n' | try --type int32 f.tamis
printf '1\n2147483648\n' | try --type int32 f.tamis
printf '1\nseven\n' | try --type int32 -f f.tamis -f g.tamis
printf '1\0002\0 3\0' | try -z --type int32 -c f.tamis
printf '1\n2' > one
printf '3\n0x4\n' > two
try --type int32 f.tamis one two one
try --type int32 f.tamis one -- - < two
try --type int32 f.tamis -k 5 -k 6 -k 7. -k 8
try --hex f.tamis -k 01000000 -k 1
printf '01000000\n01 00 00 00\n' | try --hex f.tamis
printf '01000000\r\n' | try --hex f.tamis
printf 'a\n\300\200\n' | try --type utf16 u.tamis
printf 'a\n\355\240\200\n' | try --type utf8 u.tamis
printf 'a\342\202' | try --type utf16 u.tamis
try --hex --type int32 f.tamis one
(seq 100; seq 5000 | sed 's/.*/7/'; echo 12a) | tamis check --type int32 f.tamis | wc -l
