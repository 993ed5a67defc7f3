# SPDX-License-Identifier: BSD-2-Clause
# --state keeps a window from run to run, by the times of the records.
run() { "$@"; echo "exit $?"; }
hour() { tamis dedup --window 1h --step 5m --time field:1 --key field:2 --delimiter space --state seen "$@"; }
printf '%s\n' '1000 a' '1100 b' > one
printf '%s\n' '1200 a' '1300 c' '600 d' > two
printf '%s\n' '4700 b' '4800 c' '5200 a' > three
hour one -o once && hour two -o once && hour --ahead 1h three -o once
cat once
hour --ahead 1h three -o once
tamis state show seen | grep -vE '^(commits|log|run)'
tamis state verify seen
tamis state show --json seen | tr , '\n' | grep '"kind"'
# Another window, or another time, is another state.
run tamis dedup --window 2h --state seen one -o other
run tamis dedup --window 1h --step 1m --state seen one -o other
run tamis dedup --window 1h --refresh --state seen one -o other
run tamis dedup --window 1h --state seen one -o other
run tamis dedup --state seen one -o other
tamis dedup --state plain one -o plain.out
run tamis dedup --window 1h --state plain two -o plain.out
# Stopped in the middle and continued, with records that are late and far ahead.
tamis gen clicks 60000 --duplicates 20% --seed 3 > clicks
minute() { tamis dedup --window 20s --step 2s --time json:/ts --key json:/user_id -q "$@"; }
minute clicks -o whole
for n in 1 2 3 4 5 6 7 8; do
    minute --state st --commit-every 64KiB clicks -o parts & sleep 0.0$n; kill -9 $!; wait $!
done 2> /dev/null
minute --state st clicks -o parts
cmp whole parts && echo 'the same'
