# SPDX-License-Identifier: BSD-2-Clause
# Records out of order, too late, far ahead, and without a time.
run() { "$@"; echo "exit $?"; }
minute() { tamis dedup --window 60s --step 10s --time field:1 --key field:2 --delimiter space "$@"; }
printf '%s\n' '100 a' '95 b' '90 a' '101 b' '89 c' '100 a' > late
run minute late
run minute --late drop late
run minute --lateness 40s late
run minute --lateness 41s late
run minute --lateness 41s --state st -o once late
run minute --stats late 2>&1 > printed | grep '^late' | tr -s ' '
run minute --json late 2>&1 > printed | grep -o '"late": .'
printf '%s\n' '100 a' '111 b' '100 a' '110 c' > ahead
run minute ahead
run minute --on-error skip ahead
run minute --on-error pass ahead
run minute --ahead 11s ahead
printf '%s\n' '100 a' 'now b' '101 a' > wrong
run minute wrong
run minute --on-error skip wrong
