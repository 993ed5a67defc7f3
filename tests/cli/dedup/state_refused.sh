# SPDX-License-Identifier: BSD-2-Clause
# Commands that would silently lose a record or print one twice are refused.
tamis gen words 3000 --seed 7 > a.log
tamis gen words 3000 --seed 8 > b.log
refused() { "$@"; echo "exit $?"; }
tamis dedup --state seen a.log -o once
refused tamis dedup --state seen a.log -o other # all of it would be duplicates
tamis dedup --state seen a.log -o other --reread && wc -c < other
refused tamis dedup --state seen a.log > direct
refused tamis dedup --state new a.log -o a.log
refused tamis dedup --state new a.log -o b.log # what is that?
refused tamis dedup --state seen a.log -o once --key field:2
refused tamis dedup --state seen a.log -o once --exact
refused tamis dedup --state seen a.log -o once --fpr 1e-3
refused tamis dedup --state seen a.log -o once --filter f
refused tamis dedup --state seen --exactly-once -o more < <(cat b.log)
refused tamis dedup --commit-every 1s a.log
refused tamis dedup --state seen b.log -o third --commit-every never
refused tamis dedup --state b.log a.log -o third
echo more >> once
refused tamis dedup --state seen b.log -o once
head -c 100 once > cut && mv cut once
refused tamis dedup --state seen b.log -o once
rm once
refused tamis dedup --state seen b.log -o once
sed -i '1s/^./#/' a.log
refused tamis dedup --state seen a.log -o other
head -n 10 b.log > c.log && tamis dedup --state seen c.log -o third
head -n 5 b.log > c.log
refused tamis dedup --state seen c.log -o third
ls
