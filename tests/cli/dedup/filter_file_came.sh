# SPDX-License-Identifier: BSD-2-Clause
# A file of --filter that did not exist at the beginning, and that another program made meanwhile, is not
# replaced.
echo b | tamis build -o other.tamis --expect 100
mkfifo pipe
tamis dedup --filter f.tamis pipe &
exec 3> pipe
echo c >&3
sleep 0.3
mv other.tamis f.tamis
exec 3>&-
wait $!
echo "status $?"
printf '%s\n' b c | tamis check f.tamis
echo c | tamis dedup --filter f.tamis
printf '%s\n' b c | tamis check f.tamis
ls -A
