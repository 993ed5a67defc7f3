# SPDX-License-Identifier: BSD-2-Clause
# Compressed inputs are recognised by their content, with one or several members. A damaged one ends the run.
seq 2000 > one
seq 1000 3000 > two
cat one two > both
for program in gzip zstd lz4 xz bzip2; do
    command -v $program > /dev/null || { echo "skipped: no $program" >&2; exit 77; }
    $program -qc one > packed
    $program -qc two >> packed
    echo "$program: $(tamis dedup packed | cmp - <(tamis dedup both) && tamis dedup --count < packed)"
    head -c -9 packed > cut
    tamis dedup --count cut
    echo "status $?"
done
gzip -c one > one.gz
tamis dedup --count one.gz two
tamis dedup --json one.gz two 2>&1 > /dev/null | grep -o '"bytes_in": [0-9]*' | head -n 1
echo a dictionary that is not here
printf '\x28\xb5\x2f\xfd\x21\x07\x01\x09\x00\x00a' | tamis dedup
printf '\x28\xb5\x2f\xfd\x20\x01\x09\x00\x00a' | tamis dedup
echo
