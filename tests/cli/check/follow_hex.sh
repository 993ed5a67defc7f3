# SPDX-License-Identifier: BSD-2-Clause
# --follow with hexadecimal keys: a line is a key when it is complete; a bad line in the new file of that name
# is reported.
printf 'a\nb\n' | tamis build -o f.tamis --expect 10 -
printf '61\n6' > log
mkfifo out
tamis check --hex --follow f.tamis log > out 2> err &
exec 3< out
next() { read -r -t 20 line <&3 && echo "$line"; }
next
echo 2 >> log
next
mv log log.1
printf '61\nxy\n' > log
next
wait $!
echo "status $?"
cat err
