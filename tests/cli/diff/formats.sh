# SPDX-License-Identifier: BSD-2-Clause
# Filters of other programs are equal to their copies as .tamis files.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
dcso_file a.bloom
guava_file a.guava
for file in a.bloom a.guava; do
    tamis copy -o a.tamis --format tamis $file
    tamis diff $file a.tamis
done
tamis diff a.bloom a.guava
