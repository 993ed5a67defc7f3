# SPDX-License-Identifier: BSD-2-Clause
# Files of other programs are merged with each other, or with .tamis files of their scheme.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
dcso_file a.bloom
golden dcso-0.2.4.tsv 3 5 empty.bloom
guava_file a.guava
tamis merge -o b.bloom empty.bloom a.bloom
cmp <(tail -c +49 b.bloom) <(tail -c +49 a.bloom) && tamis info b.bloom | grep -E 'format|keys'
tamis copy -o a.tamis --format tamis a.guava
tamis merge -o b.guava a.guava a.tamis && cmp a.guava b.guava
tamis merge -o b.tamis a.tamis a.guava && tamis info b.tamis | grep format
tamis merge -o c.tamis --format tamis a.guava && tamis verify c.tamis
# The user data is that of the first file. One remark lists what is left out.
for data in one two; do cat a.bloom <(printf '%s' $data) > $data.bloom; done
data() { tail -c 3 "$1" | tr -d '\0'; echo; }
tamis merge -o c one.bloom two.bloom a.bloom one.bloom && data c
tamis merge -o c a.bloom one.bloom two.bloom && cmp c a.bloom
tamis merge -q -o c two.bloom one.bloom && data c
rm one.bloom two.bloom c
tamis merge -o c a.guava a.bloom
tamis merge -o c --format dcso a.guava
ls
