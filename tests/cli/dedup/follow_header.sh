# SPDX-License-Identifier: BSD-2-Clause
# --follow-input with --state and --header: the header of a file that was read in part is read again at the
# next start.
. "$TAMIS_SOURCE_DIR/tests/support/follow.bash"
follow() {
    tamis dedup --state seen --follow-input "$@" --header --key csv:id -o once -q 2> remarks &
}
mkdir log
printf 'id,name\n1,a\n2,b\n' > log/a.csv
follow log/a.csv
has once 2,b
stop -TERM
echo "status $?"
echo 3,c >> log/a.csv
follow log/a.csv
has once 3,c
stop -TERM
echo "status $?"
echo 'and another log beside it'
printf 'id,name\n3,c\n4,d\n' > log/b.csv
follow --files 'log/*.csv'
has once 4,d
stop -KILL
echo "status $?"
echo 5,e >> log/a.csv
echo 6,f >> log/b.csv
mv log/a.csv log/a.csv.1
printf 'id,name\n7,g\n' > log/a.csv
follow --files 'log/*.csv'
has once 5,e
has once 6,f
has once 7,g
stop -TERM
echo "status $?"
sort once | paste -s -d ' '
