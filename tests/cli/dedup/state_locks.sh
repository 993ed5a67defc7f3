# SPDX-License-Identifier: BSD-2-Clause
# The output and the state of a run are locked. Other processes fail with a message that names the holder.
masked_message() { sed -E "s/process $run on $(hostname) since [-0-9]+ [0-9:]+ UTC/process PID on HOST since TIME/" err; }
seq 3 > in
mkfifo pipe
tamis dedup -q --state S pipe -o out --duplicates twice &
run=$!
exec 3> pipe
until [ -e out ] && [ -e twice ]; do sleep 0.02; done
for command in "--state S in -o other" "--state S2 in -o out" "--state S2 in -o other --duplicates twice" "in -o out"; do
    tamis dedup --lock-wait 0 $command 2> err
    echo "exit $?"
    masked_message
done
tamis dedup -q in -o other && cat other
printf '1\n1\n2\n' >&3
exec 3>&-
wait $run
echo "exit $?"
cat out twice
# A killed run leaves no lock.
(tamis dedup -q --state K pipe -o killed & echo $! > pid)
exec 3> pipe
until [ -e killed ]; do sleep 0.02; done
kill -KILL "$(cat pid)"
exec 3>&-
until tamis dedup -q in -o killed 2> err; do sleep 0.02; done
cat killed
