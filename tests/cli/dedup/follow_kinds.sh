# SPDX-License-Identifier: BSD-2-Clause
# --follow-input with --state, over a rotation and a kill: a window, records with positions, CSV with a
# header, a link.
. "$TAMIS_SOURCE_DIR/tests/support/follow.bash"
follow() {
    tamis dedup --state "$1" --follow-input "$1.log" -o "$1.out" -q "${@:2}" &
}
echo 'a window'
window=(--window 1h --step 5m --time field:1 --key field:2 --delimiter space --ahead 2h)
printf '1700000%s\n' '000 a' '060 b' '120 a' > w.log
follow w "${window[@]}"
has w.out '1700000060 b'
stop -KILL
printf '1700000%s\n' '180 b' '240 c' >> w.log
mv w.log w.log.1
printf '17000%s\n' '04000 a' '05000 c' > w.log
follow w "${window[@]}"
has w.out '1700004000 a'
stop -TERM
cat w.out
echo 'positions'
positions=(--source field:1 --position field:2 --key field:3 --delimiter space --commits acks)
printf '%s\n' 'p0 1 a' 'p1 1 b' 'p0 1 a' 'p0 2 a' > p.log
follow p "${positions[@]}"
has p.out 'p1 1 b'
stop -KILL
printf '%s\n' 'p0 2 a' 'p1 2 c' >> p.log
mv p.log p.log.1
printf '%s\n' 'p1 1 b' 'p1 2 c' 'p0 3 d' > p.log
follow p "${positions[@]}"
has p.out 'p0 3 d'
stop -TERM
cat p.out
tail -n 2 acks
echo 'a header'
printf 'id,n\n1,a\n1,b\n' > h.log
follow h --header --key csv:id
has h.out '1,a'
stop -KILL
mv h.log h.log.1
printf 'id,n\n1,c\n2,d\n' > h.log
follow h --header --key csv:id
has h.out '2,d'
stop -TERM
cat h.out
echo 'a link'
echo a > first
ln -s first l.log
follow l
has l.out a
stop -KILL
echo b >> first
printf 'b\nc\n' > second
ln -sfn second l.log
follow l
has l.out c
stop -TERM
paste -s -d ' ' l.out
