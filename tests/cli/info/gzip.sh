# SPDX-License-Identifier: BSD-2-Clause
# Compressed files are recognised by their bytes, and their content is described.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
dcso_file_with_data a.bloom
guava_file b.guava
gzip -n a.bloom b.guava
tamis gen words 100 > keys
tamis build -o c.tamis --kind blocked --expect 100 --gzip keys
tamis info a.bloom.gz
tamis info b.guava.gz c.tamis | grep -A 1 -E 'filter of'
tamis info --json a.bloom.gz | grep -o '"format": .*"kind"'
tamis copy -o plain.tamis c.tamis
tamis info --json plain.tamis | grep -o '"format": .*"kind"'
# A damaged compressed file.
head -c 60 a.bloom.gz > cut.gz
{ cat a.bloom.gz; echo more; } > longer.gz
echo text | gzip -n > text.gz
gzip -n < a.bloom.gz > twice.gz
printf '\x1f\x8b' > two
for file in cut.gz longer.gz text.gz twice.gz two; do
    tamis info $file
    echo "$file: $?"
done
