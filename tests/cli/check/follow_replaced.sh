# SPDX-License-Identifier: BSD-2-Clause
# --follow reloads a filter that is replaced, even by one of another kind and hash. If the new file is not a
# filter, a message says so once, and the old filter stays in use until there is a filter again.
set -m # so that an interrupt is not ignored
echo a | tamis build -o one
echo b | tamis build -o two
: > log
mkfifo out
tamis check --follow -f one -f two log > out 2> err &
exec 3< out
# ask RECORD...: the last record is always printed, so that the script can wait for it.
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
