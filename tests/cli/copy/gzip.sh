# SPDX-License-Identifier: BSD-2-Clause
# copy, build and merge compress only with --gzip: copy without it decompresses.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
tamis gen words 300 > keys
dcso_file_with_data a.bloom
guava_file a.guava
tamis build -o a.tamis --kind classic --expect 1000 --fpr 1e-3 --label a=b keys
for file in a.bloom a.guava a.tamis; do
    tamis copy --gzip -o packed $file && gzip -dc packed | cmp - $file
    tamis copy --gzip -o again packed && cmp packed again
    tamis copy -o plain packed && cmp plain $file
    tamis diff $file packed | head -n 3 | tail -n 1
done
tamis copy --gzip --format tamis -o packed.tamis a.bloom
tamis copy --format dcso -o a.bloom packed.tamis && tamis info a.bloom | grep -E 'format|data'
# A filter that the format cannot hold is refused, and the old file stays.
tamis copy --gzip --format guava -o packed a.bloom
echo $?
tamis info packed | sed -n 2p

head -n 150 keys > one
tail -n 150 keys > two
for half in one two; do
    tamis build -o $half.tamis --gzip --kind blocked --expect 1000 --fpr 1e-3 $half
done
tamis build -o both.tamis --kind blocked --expect 1000 --fpr 1e-3 keys
tamis merge --gzip -o packed one.tamis two.tamis && gzip -t packed
tamis merge -o plain one.tamis two.tamis
for merged in packed plain; do
    tamis info $merged | sed -n 2p
    tamis diff $merged both.tamis | head -n 3 | tail -n 1
    tamis check -c $merged keys
done
tamis build -o a.bloom --format dcso --gzip --expect 300 keys && gzip -dc a.bloom | od -An -tx1 -N8
