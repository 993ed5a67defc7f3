# SPDX-License-Identifier: BSD-2-Clause
# What a program that knows no lock puts there meanwhile stays, and the run says that it must be repeated.
echo a | tamis build -o f.tamis --expect 100
echo b | tamis build -o other.tamis --expect 100
mkfifo pipe
tamis add f.tamis pipe &
exec 3> pipe
sleep 0.3
mv other.tamis f.tamis
echo c >&3
exec 3>&-
wait $!
echo "status $?"
printf '%s\n' a b c | tamis check f.tamis
echo c | tamis add f.tamis
printf '%s\n' a b c | tamis check f.tamis
ls -A
