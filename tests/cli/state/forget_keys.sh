# SPDX-License-Identifier: BSD-2-Clause
# Keys are removed from a state of kind exact. The next run takes them for new ones, and goes on where it was.
show() { tamis state show "$1" | sed -n '/^keys/p; /^commits/p; /records/s,: .*,,p'; }
seq 10 > ids
tamis dedup --state seen --exact ids -o once
printf '%s\n' 3 7 99 3 > wanted
tamis state forget seen --keys wanted
echo "status $?"
show seen
tamis state forget seen --keys wanted --json # nothing the second time
tamis state verify seen
grep -c . once # outputs stay
printf '%s\n' 3 4 11 >> ids
tamis dedup --state seen --exact ids -o once
tail -n 2 once
echo 'all keys of a table for a number of keys'
seq 10 > ten
tamis dedup --state sized --exact --expect 3000 ten -o ten.out
tamis state forget sized --keys ten
show sized
tamis dedup --state sized --exact --expect 3000 ten -o ten.out
tamis state verify sized
echo 'keys in their form'
printf '{"id": " %s "}\n' Alice BOB 3 > a.log
tamis dedup --state typed --exact --key json:/id --trim --ignore-case a.log -o a.out
echo ' bob' | tamis state forget typed --keys -
printf '%s\n' 17 18 > numbers
tamis dedup --state int --exact --type int64 numbers -o n.out
echo 17 | tamis state forget int --keys -
echo seventeen | tamis state forget int --keys -
echo "status $?"
show int
echo 'refused'
printf '1\t2\n' > pair
tamis dedup --state joined --exact --key field:1 --key field:2 pair -o j.out
tamis state forget joined --keys wanted
echo "status $?"
tamis dedup --state fingerprint ids -o f.out
tamis dedup --state bloom --kind blocked --expect 100 ids -o b.out
tamis dedup --state window --window 1h ids -o w.out
for state in fingerprint bloom window; do
    tamis state forget $state --keys wanted
    echo "status $?"
done
tamis state forget seen --keys nowhere
tamis state forget seen --keys wanted --run 1
tamis state show seen --keys wanted
tamis state forget nowhere --keys wanted
(
    flock 9
    tamis state forget seen --keys wanted 2>&1 | sed 's/process.*UTC/a process/'
) 9< seen/lock
show seen
