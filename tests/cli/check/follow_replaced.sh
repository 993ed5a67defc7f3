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
# query RECORD...: the last record is always printed, so that the script can wait for it.
query() {
    printf '%s\n' "$@" >> log
    while read -r -t 20 line <&3; do
        echo "$line"
        [ "${line#*$'\t'}" = "${!#}" ] && break
    done
}
query a c b
printf '%s\n' c b | tamis build -o two --seed 9 --kind blocked
query a c b
printf '%s\n' c b | tamis build -o one --format dcso -q
query a c b
rm one
query c b
echo junk > junk
mv junk two
query c b
query c b
echo x | tamis build -o one
query c x b
kill -INT $!
wait $!
echo "status $?"
cat err
