# SPDX-License-Identifier: BSD-2-Clause
# A filter that is replaced while it is queried keeps giving its old answers.
printf '%s\n' a b > in
tamis build -o f.tamis in
mkfifo pipe
tamis check f.tamis pipe > out &
exec 3> pipe
sleep 0.3
echo x | tamis build -o f.tamis
printf '%s\n' x a >&3
exec 3>&-
wait $!
echo "status $?"
cat out
echo x | tamis check f.tamis
