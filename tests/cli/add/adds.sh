# SPDX-License-Identifier: BSD-2-Clause
# Added keys are present afterwards, with the old ones; each is reported as new once.
printf '%s\n' a b > in
tamis build -o f.tamis --expect 10 in
printf '%s\n' b c c d | tamis add f.tamis --print fresh
echo '--'
printf '%s\n' c e | tamis add f.tamis --print seen
echo '--'
printf '%s\n' a b c d e f | tamis check f.tamis
printf 'x\0y' | tamis add -z f.tamis && printf 'y\0x\nx\0' | tamis check -z f.tamis | od -An -c
tamis add f.tamis < /dev/null
ls -A
