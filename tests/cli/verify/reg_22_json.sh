# SPDX-License-Identifier: BSD-2-Clause
# A line of --json for each file, also for unreadable ones, with the same members.
seq 9 > in; tamis build -o f.tamis in; cp f.tamis bad.tamis
printf '\xff' | dd of=bad.tamis bs=1 seek=70000 conv=notrunc 2> /dev/null || true
printf '\xff\xff' | dd of=bad.tamis bs=1 seek=4100 conv=notrunc 2> /dev/null
tamis verify --json f.tamis nowhere bad.tamis in f.tamis | sed 's/"damage": "[^"]*"/"damage": "..."/'
echo "exit ${PIPESTATUS[0]}"
