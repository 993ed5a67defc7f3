# SPDX-License-Identifier: BSD-2-Clause
# Keys of the command line; an empty one too.
printf 'a\nb c\n\n' > in
tamis build -o f.tamis in
try() {
    tamis check f.tamis "$@"
    echo "status $?"
}
try -k a -k x -k 'b c' --lookup=
try -v -k a -k x
try -c -k a -k x -k ''
try -q -k x
try -z -k a | od -An -c
try --hex -k 61 -k 622063 -k 00
try --hex -k 6
try --hex -k a -k 6g
try -k a in
try -k a --follow
try -k
