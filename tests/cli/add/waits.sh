# SPDX-License-Identifier: BSD-2-Clause
# Several at once wait for each other: the keys of all are in, and a command that waits for long says so.
echo 0 > in
tamis build -o f.tamis in
for i in {1..8}; do seq "$i"00 "$i"99 | tamis add f.tamis & done
wait
seq 100 899 | tamis check -c f.tamis
mkfifo pipe
tamis add f.tamis pipe &
exec 3> pipe
until [ -e .f.tamis.tamis-lock ]; do sleep 0.02; done
echo 900 > more
tamis add f.tamis more 2> err 3>&- &
waiting=$!
until grep -qs 'waiting for at most 60 seconds' err; do sleep 0.02; done
echo 901 >&3
exec 3>&-
wait $waiting
echo "status $?"
sed -E 's/process .* holds/process PID holds/' err
wait
seq 900 901 | tamis check -c f.tamis
echo b | tamis add --lock-wait 1x f.tamis
echo "status $?"
# A signal ends the wait.
tamis add f.tamis pipe &
exec 3> pipe
until [ -e .f.tamis.tamis-lock ]; do sleep 0.02; done
tamis clear f.tamis 2> err 3>&- &
waiting=$!
until grep -qs waiting err; do sleep 0.02; done
kill -TERM $waiting
wait $waiting
echo "status $?"
exec 3>&-
wait
