# SPDX-License-Identifier: BSD-2-Clause
# --follow-input says so when bytes are lost: those written after a rotation, and those of an overwritten
# file.
follow() {
    tamis dedup --follow-input log > out 2> err &
    exec 3< out
}
next() { read -r -t 20 line <&3 && echo "$line"; }
finish() {
    until [ -s err ]; do sleep 0.02; done
    kill -TERM $!
    wait $!
    echo "status $?"
    cat err
}
mkfifo out
echo a > log
follow
next
exec 4>> log
mv log log.1
echo b > log
next
echo late >&4
finish
echo 'overwritten by more bytes'
echo a > log
follow
next
printf 'b\nc\nd\n' > new
dd if=new of=log conv=notrunc status=none
next
next
next
finish
echo 'overwritten by as many'
echo a > log
follow
next
printf 'b\n' | dd of=log conv=notrunc status=none
next
finish
echo 'not a file on a disk'
rm log
mkfifo log
tamis dedup --follow-input log
echo "status $?"
timeout 20 tamis dedup --follow-input /proc/self/status > /dev/null
echo "status $?"
echo 'the first record that is left out is reported when it comes'
. "$TAMIS_SOURCE_DIR/tests/support/follow.bash"
printf '%s\n' '1000000 a' '1000002 b' '1000900 c' '1000003 d' '999000 e' > jumps
tamis dedup --window 10s --step 1s --time field:1 --key field:2 --delimiter space --on-error skip --follow-input jumps \
    > kept 2> remarks &
has remarks 'tamis: a record is older than --lateness allows; it was passed on, and so are later ones; see --lateness, --late'
cat remarks
stop -TERM
echo "status $?"
