# SPDX-License-Identifier: BSD-2-Clause
# The filter of a state as a file: with the type and normalisation of its keys, and while a run uses the
# state.
tamis gen words 1000 --seed 7 > a.log
tamis dedup --state seen --trim --ignore-case --key 'regex:^(.*?)(?: --hex)?$' a.log -o once
tamis state export seen -o seen.tamis
tamis info seen.tamis --json | sed 's/.*"kind": "\([a-z]*\)".*"added": \([0-9]*\).*/\1 \2/'
tamis check --count seen.tamis once
head -n 1 once | tr a-z A-Z | sed 's/^/ /' | tamis check --count seen.tamis
echo again >> a.log
tamis dedup --state seen --trim --ignore-case --key 'regex:^(.*?)(?: --hex)?$' a.log -o once -q
tamis state export seen -o seen.tamis
tamis check --count seen.tamis once
tamis state show seen | grep "^made with"
mkfifo pipe
tamis dedup --state live -o out < pipe 2> remarks &
exec 3> pipe
echo a >&3
until [ -s out ]; do sleep 0.02; done
tamis state export live -o live.tamis
echo "status $?"
exec 3>&-
wait $!
tamis dedup --state minute --window 1m --time field:1 --key field:2 -o window.out << END
100	a
102	b
END
tamis state export minute -o minute.tamis
tamis info minute.tamis | grep window
echo 'refused'
tamis state export seen
tamis state export nowhere -o f
tamis state export seen -o seen/f
tamis state export seen -o nowhere/f
tamis state show seen -o f
tamis state export seen -o f --json
head -c 20 /dev/zero > secret
tamis dedup --state keyed --secret-file secret a.log -o keyed.out
tamis state export keyed -o f
tamis state export keyed --secret-file secret -o f
tamis check --count --secret-file secret f keyed.out
echo 'files of a run are kept'
for output in once a.log; do
    tamis state export seen -o "$output"
    echo "status $?"
done
