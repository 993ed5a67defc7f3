# SPDX-License-Identifier: BSD-2-Clause
# An unfinished run is in the way of another one, until it is forgotten. Its keys stay.
show() { tamis state show seen | sed -n "s,$PWD/,,g; /^run/p; /^finish/p"; }
printf '%s\n' '{"k": 1}' 'broken' '{"k": 2}' > a.log
printf '%s\n' '{"k": 1}' '{"k": 3}' > b.log
tamis dedup --state seen --key json:/k a.log -o once
echo "status $?"
tamis dedup --state seen --key json:/k b.log -o other
show
tamis dedup --state seen --key json:/k b.log -o once 2> err
echo "status $?"
echo 'a run before the last one'
tamis state forget seen --run 1
echo "status $?"
show
tamis state forget seen --run 1 # nothing the second time: the closed run has a later number
echo "status $?"
tamis state forget seen --run 2
echo "status $?"
show | grep -c run
cp b.log c.log
echo '{"k": 4}' >> c.log
tamis dedup --state seen --key json:/k c.log -o once -q
cat once
show
echo 'the last run, which is given again all the same'
printf '%s\n' '{"k": 5}' 'broken' '{"k": 6}' > d.log
tamis dedup --state seen --key json:/k d.log -o once
last=$(show | sed -n 's/^run \([0-9]*\).*d.log.*/\1/p')
tamis state forget seen --run "$last"
show | tail -n 1
tamis state verify seen
sed -i 's/broken/"less"/' d.log
tamis dedup --state seen --key json:/k d.log -o once --on-error skip
tail -n 1 once
show | tail -n 1
echo 'refused'
for options in '' '--run 9' '--run 0' '--run 1 --json' '--run 2' '--run 3'; do
    tamis state forget seen $options
    echo "status $?"
done
echo 'JSON: which runs are closed'
tamis state show seen --json | grep -o '"number": [0-9]*, "ended": [a-z]*, "open": [a-z]*'
echo 'the rest of a pipe'
mkfifo pipe
tamis dedup --state piped -o piped.out < pipe 2> none &
run=$!
disown
exec 3> pipe
until tamis state show --json piped 2> none | grep -q '"number": 1'; do sleep .05; done
kill -KILL $run
while kill -0 $run 2> none; do sleep .05; done
exec 3>&-
tamis state show piped | sed -n "s,$PWD/,,g; /^run/p"
tamis state forget piped --run 1
echo "status $?"
tamis state show seen --run 1
tamis state forget nowhere --run 1
