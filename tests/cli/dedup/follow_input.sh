# SPDX-License-Identifier: BSD-2-Clause
# --follow-input without a state: growth, a record that comes in parts, rotations, and a file that is cut.
printf 'a\nb\na\nha' > log
mkfifo out
tamis dedup --follow-input log > out 2> err &
exec 3< out
next() { read -r -t 20 line <&3 && echo "$line"; }
next
next
printf 'lf\n' >> log
next
mv log log.1
echo late >> log.1
next
# Two rotations in one step: the file in between is read too, and the compressed copy is not.
mkdir new
printf 'a\nc\n' > new/log.1
printf 'd\n' > new/log
mv log.1 log.2
touch -d '1 second ago' log.2
gzip -c log.2 > log.2.gz
mv new/log.1 log.1
mv new/log log
next
next
printf 'e' >> log
printf '\n' >> log
next
echo f > log
next
printf half >> log
sleep 0.2
kill -TERM $!
wait $!
echo "status $?"
cat err
