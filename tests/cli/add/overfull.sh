# SPDX-License-Identifier: BSD-2-Clause
# Files of other programs take keys past what they were made for: a remark at the end, and what has become of the rate.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
dcso_file a.bloom
guava_file a.guava
printf '%s\n' {1..8} > few
printf '%s\n' {1..40} > many
for file in a.bloom a.guava; do
    tamis add $file few
    tamis add -q $file many
    tamis add $file many
    tamis info $file | grep -E 'keys|rate now|saturated'
done
printf '%s\n' {1..2000} | tamis add a.bloom --json 2> json
grep -c . json
echo new | tamis add a.bloom
guava_file b.guava
tamis dedup --filter b.guava few
tamis dedup --filter b.guava many | tail -n 1
echo x | tamis dedup -q --filter b.guava
