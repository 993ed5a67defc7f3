# SPDX-License-Identifier: BSD-2-Clause
# A picture is written whole or not at all, with the permissions of the old file; no temporary file is left.
umask 022
try() {
    tamis plan --plot -o "$@"
    echo "status $?"
}
mkdir directory
printf 'old\n' > old.svg
chmod 640 old.svg
try old.svg
try new.svg
cmp old.svg new.svg
stat -c '%a %n' old.svg new.svg
printf 'old\n' > target
ln -s target link.svg
try link.svg
[ -L link.svg ] && cmp target new.svg
ln -s nowhere lost.svg
try lost.svg
try directory
try missing/curve.svg
try old.svg/curve.svg
try /dev/full
try ''
try "$(printf 'n%.0s' {1..300})"
printf 'old\n' > small.svg
(
    ulimit -f 1
    try small.svg
)
cat small.svg
mkfifo pipe
cat pipe > copy &
try pipe
wait $!
cmp copy new.svg
ls -A . directory
tamis plan --plot -o - > /dev/full
echo "status $?"
