# SPDX-License-Identifier: BSD-2-Clause
# A read-only directory: an error before anything is read.
mkdir directory
echo a > in
chmod a+rwx . && chmod a-w directory
as=
if [ "$(id -u)" = 0 ]; then
    as='setpriv --reuid=65534 --clear-groups'
    $as tamis --version > /dev/null 2>&1 && $as test -x . || { echo 'skipped: root may write anywhere' >&2; exit 77; }
fi
mkfifo never
$as tamis build -o directory/f.tamis never
echo "status $?"
