# SPDX-License-Identifier: BSD-2-Clause
# --filter prints the records that the filter in the file does not have, run after run. The file is made if it
# does not exist.
printf '%s\n' a b a > one
printf '%s\n' b c c > two
tamis dedup --filter seen.tamis --expect 100 one
echo --
tamis dedup --filter seen.tamis two
echo --
tamis dedup --filter seen.tamis --duplicates again -o fresh one two && cat fresh again
printf '%s\n' a b c d | tamis check seen.tamis
chmod 600 seen.tamis
echo d | tamis dedup --filter seen.tamis --count
stat -c %a seen.tamis
head -c 32 /dev/zero > secret
tamis dedup --filter keyed.tamis --secret-file secret one
tamis dedup --filter keyed.tamis --secret-file secret one
tamis dedup --filter keyed.tamis one
echo "status $?"
ls -A
