# SPDX-License-Identifier: BSD-2-Clause
# Filters of other programs and their copies in our own format are equal.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
dcso_file a.bloom
guava_file a.guava
for file in a.bloom a.guava; do
    tamis copy -o a.tamis --format tamis $file
    tamis diff $file a.tamis
done
tamis diff a.bloom a.guava
