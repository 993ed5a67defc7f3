# SPDX-License-Identifier: BSD-2-Clause
# After a signal the filter of --filter is saved only if all records that it knows were printed and read.
. "$TAMIS_SOURCE_DIR/tests/support/follow.bash"
set -m # so that an interrupt is not ignored
mkfifo in out
# ended SIGNAL: ends the run $! by that signal.
ended() {
    kill -"$1" $!
    wait $!
    echo "status $?"
}
# Each round ends a run that was given a and b. Then another run says which of a, b and c it does not know.
again() {
    exec 3>&- 4<&-
    printf '%s\n' a b c | tamis dedup --filter f.tamis | tr '\n' ' '
    echo
    rm -f f.tamis out2
}

echo 'a reader that takes all'
for signal in HUP INT TERM; do
    tamis dedup --filter f.tamis < in > out &
    exec 3> in 4< out
    printf 'a\nb\na\n' >&3
    read -r -t 20 one <&4
    read -r -t 20 two <&4
    ended $signal
    again
done
echo 'one that has stopped, with all of it in the pipe'
tamis dedup --filter f.tamis < in > out &
exec 3> in 4< out
printf 'a\nb\na\n' >&3
until read -r -t 0 <&4; do sleep 0.05; done # there is something to read
ended INT
again
echo 'one that has stopped, and does not take all'
printf 'a\nb\n' > many
tamis gen words 50000 >> many
tamis dedup --filter f.tamis many > out &
exec 3> /dev/null 4< out
read -r -t 20 one <&4
sleep 0.3
ended INT
again
echo 'a filter that is compressed'
echo c | tamis build -o f.tamis --gzip --expect 10
tamis dedup --filter f.tamis < in > out &
exec 3> in 4< out
printf 'a\nc\nb\n' >&3
read -r -t 20 one <&4
read -r -t 20 two <&4
ended INT
gzip -t f.tamis
again
echo 'a filter that came meanwhile'
tamis dedup --filter f.tamis < in > out &
exec 3> in 4< out
printf 'a\nb\n' >&3
read -r -t 20 one <&4
read -r -t 20 two <&4
echo c | tamis build -o other --expect 10
mv other f.tamis
ended INT
again
echo 'one that has gone'
tamis dedup --filter f.tamis < in > out &
exec 3> in 4< out
printf 'a\nb\n' >&3
read -r -t 20 one <&4
read -r -t 20 two <&4
exec 4<&-
ended INT
again
echo 'a file'
: > file
tamis dedup --filter f.tamis < in > file &
exec 3> in
printf 'a\nb\n' >&3
while [ "$(wc -l < file)" -lt 2 ]; do sleep 0.05; done
ended TERM
again
cat file
echo 'a file that is not there yet'
: > file
tamis dedup --filter f.tamis --duplicates again < in > file &
exec 3> in
printf 'a\nb\n' >&3
while [ "$(wc -l < file)" -lt 2 ]; do sleep 0.05; done
ended TERM
again
echo 'a number'
tamis dedup --filter f.tamis --count -q < in &
exec 3> in
printf 'a\nb\n' >&3
has_read in
sleep 0.3
ended TERM
again
echo 'nothing was read'
tamis dedup --filter f.tamis < in &
exec 3> in
handles_term
ended TERM
[ ! -e f.tamis ]
