# SPDX-License-Identifier: BSD-2-Clause
# A secret of 16 to 4096 bytes, every byte counts; the others are refused with the reason.
try() {
    echo a | tamis dedup --secret-file "$1"
    echo "$1: $?"
}
head -c 15 /dev/zero > short
head -c 16 /dev/zero > least
head -c 4096 /dev/zero > most
head -c 4097 /dev/zero > long
for file in short least most long nowhere .; do try $file; done
