# SPDX-License-Identifier: BSD-2-Clause
# A file that is not a filter, an incomplete one, or one with another secret: an error, never an answer.
printf '%s\n' a b > in
mkdir directory
head -c 32 /dev/zero > secret
head -c 33 /dev/zero > other
: > empty
try() {
    tamis check "$@" < in
    echo "status $?"
}
try
try missing
try directory
try in
try empty
try f.tamis
tamis build -o f.tamis in
head -c -1 f.tamis > cut && try cut
cp f.tamis changed && printf '\377' | dd of=changed bs=1 seek=4130 conv=notrunc status=none && try changed
try -q changed
try -f f.tamis -f changed
try f.tamis missing
try f.tamis directory
try f.tamis ''
try f.tamis --secret-file secret
try f.tamis --secret-file none
try f.tamis --secret-file -
tamis build -o s.tamis --secret-file secret in
try s.tamis
try s.tamis --secret-file other
try s.tamis --secret-file secret
try f.tamis -cq
try f.tamis --max-record 0
try f.tamis in --max-record 1
