# SPDX-License-Identifier: BSD-2-Clause
# --window: a record is a duplicate if its key was printed within the window before it.
run() { "$@"; echo "exit $?"; }
cat > clicks <<'X'
{"id":1,"at":"2025-11-25T00:00:00Z"}
{"id":2,"at":"2025-11-25T00:30:00Z"}
{"id":1,"at":"2025-11-25T12:00:00Z"}
{"id":1,"at":"2025-11-26T00:00:00Z"}
{"id":2,"at":"2025-11-26T00:40:00Z"}
{"id":1,"at":"2025-11-26T01:00:00Z"}
{"id":2,"at":"2025-11-26T02:00:00Z"}
X
day() { tamis dedup --window 24h --step 1h --time json:/at --key json:/id --ahead 1d "$@"; }
run day clicks
echo refreshed
run day --refresh clicks
echo count
run day --count clicks
echo mark
day --mark=new clicks | sed -n '1p;4p'
# The unit of a number follows from its size.
printf '%s\n' 'a 1764110400' 'a 1764110401000' 'a 2025-11-25T22:40:02Z' 'a 1764114001' > lines
run tamis dedup --window 1h --step 2s --ahead 1h --delimiter space --time field:2 --key field:1 lines
# By the clock: all within a second.
printf '%s\n' a b a | run tamis dedup --window 1h
