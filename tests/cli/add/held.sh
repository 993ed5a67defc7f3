# SPDX-License-Identifier: BSD-2-Clause
# If two processes change a file, the second one fails with a message that names the first; lookups are not
# affected.
echo a > in
tamis build -o f.tamis --expect 100 in
mkfifo pipe
tamis add f.tamis pipe &
exec 3> pipe
until [ -e .f.tamis.tamis-lock ]; do sleep 0.02; done
echo b | tamis add --lock-wait 0 f.tamis 2> err
echo "status $?"
sed -E "s/process $! on $(hostname) since [-0-9: ]+ UTC holds/process PID on HOST since TIME holds/" err
tamis build --lock-wait 0 -o f.tamis in 2> err
echo "status $?"
sed -E "s/process $! on $(hostname) since [-0-9: ]+ UTC holds/process PID on HOST since TIME holds/" err
echo b | tamis dedup --lock-wait 0 --filter f.tamis 2> err
echo "status $?"
sed -E "s/process $! on $(hostname) since [-0-9: ]+ UTC holds/process PID on HOST since TIME holds/" err
tamis check f.tamis in
echo c >&3
exec 3>&-
wait $!
echo "status $?"
echo c | tamis check f.tamis
echo b | tamis add f.tamis && echo b | tamis check f.tamis
ls -A
