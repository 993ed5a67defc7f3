# SPDX-License-Identifier: BSD-2-Clause
# A file that is not a filter, an incomplete one, or one with another secret.
printf '%s\n' a b > in
mkdir directory
head -c 32 /dev/zero > secret
head -c 33 /dev/zero > other
: > empty
try() {
    echo x | tamis add "$@"
    echo "status $?"
}
try
try missing
try directory
try in
try empty
tamis build -o f.tamis in
head -c -1 f.tamis > cut
try cut
cp f.tamis changed && printf '\377' | dd of=changed bs=1 seek=4130 conv=notrunc status=none
try changed
try f.tamis f.tamis
try f.tamis missing
try f.tamis directory
try f.tamis --secret-file secret
try f.tamis --secret-file none
tamis build -o s.tamis --secret-file secret --expect 9 in
try s.tamis
try s.tamis --secret-file other
try s.tamis --secret-file secret && echo x | tamis check s.tamis --secret-file secret
ls -A
