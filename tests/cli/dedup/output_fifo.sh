# SPDX-License-Identifier: BSD-2-Clause
# A FIFO is written directly.
mkfifo out
cat out > copy &
printf 'a\nb\na\n' | tamis dedup -o out
wait
cat copy
[ -p out ] && echo 'still a FIFO'
