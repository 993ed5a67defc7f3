# SPDX-License-Identifier: BSD-2-Clause
# Records of hexadecimal digits mean the bytes; they are printed unchanged.
printf 'a\0\1\377' > in
tamis build -z -o f.tamis in
printf '%s\n' 61 01FF 01ff 62 '' | tamis check --hex f.tamis
echo "status $?"
printf '%s\n' 61 0x61 61 | tamis check --hex f.tamis
echo "status $?"
printf '%s\n' 61 61 616 | tamis check --hex f.tamis
echo "status $?"
