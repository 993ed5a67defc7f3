# SPDX-License-Identifier: BSD-2-Clause
# --filter keeps a window from run to run.
run() { "$@"; echo "exit $?"; }
hour() { tamis dedup --window 1h --step 5m --time field:1 --key field:2 --delimiter space --filter seen.tamis "$@"; }
printf '%s\n' '1000 a' '1100 b' > one
printf '%s\n' '1200 a' '1300 c' > two
printf '%s\n' '4700 b' '4800 c' '5200 a' > three
hour one && hour two && hour --ahead 1h three
tamis info seen.tamis | grep -E 'kind|window|newest|keys'
tamis info --json seen.tamis | tr , '\n' | grep -E 'window|step|late|newest|refresh'
tamis verify seen.tamis
echo a | run tamis check seen.tamis
echo c | run tamis check seen.tamis
echo d | run tamis check seen.tamis
# Another window is another filter.
run tamis dedup --window 2h --filter seen.tamis one
run tamis dedup --window 1h --step 1m --filter seen.tamis one
run tamis dedup --window 1h --refresh --filter seen.tamis one
run tamis dedup --filter seen.tamis one
echo z | run tamis add seen.tamis
run tamis merge seen.tamis seen.tamis -o both.tamis
tamis build -o plain.tamis one
run tamis dedup --window 1h --filter plain.tamis one
