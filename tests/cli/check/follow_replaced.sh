# SPDX-License-Identifier: BSD-2-Clause
# --follow takes a filter anew that is replaced, of another kind and hash too; one that is no filter any more is told once
# and the old one stays in use, until there is one again.
set -m # so that an interrupt is not ignored
echo a | tamis build -o one
echo b | tamis build -o two
: > log
mkfifo out
tamis check --follow -f one -f two log > out 2> err &
exec 3< out
# ask RECORD...: the last one is printed in any case, so that there is something to wait for.
ask() {
    printf '%s\n' "$@" >> log
    while read -r -t 20 line <&3; do
        echo "$line"
        [ "${line#*$'\t'}" = "${!#}" ] && break
    done
}
ask a c b
printf '%s\n' c b | tamis build -o two --seed 9 --kind blocked
ask a c b
printf '%s\n' c b | tamis build -o one --format dcso -q
ask a c b
rm one
ask c b
echo junk > junk
mv junk two
ask c b
ask c b
echo x | tamis build -o one
ask c x b
kill -INT $!
wait $!
echo "status $?"
cat err
