# SPDX-License-Identifier: BSD-2-Clause
# -q ends at the first record that is found: this input never ends.
echo a > in
tamis build -o f.tamis in
mkfifo pipe
exec 3<> pipe
printf 'x\na\n' >&3
timeout 10 tamis check -q f.tamis pipe
echo "status $?"
printf 'a\nx\n' >&3
timeout 10 tamis check -qv f.tamis pipe
echo "status $?"
printf '{"id":"a"}\n{"id\n' | tamis check -q --key json:/id f.tamis
echo "status $?, whatever stands behind it"
