# SPDX-License-Identifier: BSD-2-Clause
# --follow continues when the file grows, is rotated or truncated, until a signal.
set -m # so that an interrupt is not ignored
printf '%s\n' a b c > in
tamis build -o f.tamis in
printf 'a\nx\nb' > log
mkfifo out
tamis check --follow f.tamis log > out &
exec 3< out
next() { read -r -t 20 line <&3 && echo "$line"; }
next
echo >> log
next
mv log log.1
echo c >> log.1
next
printf 'x\na\n' > log
next
echo b > log
next
mv log log.2
: > log
sleep 0.5
echo c >> log.2
next
echo a > log
next
kill -INT $!
wait $!
echo "status $?"
tamis check --follow -q f.tamis log.1
echo "status $?"
