# SPDX-License-Identifier: BSD-2-Clause
# A copy has the same bytes; between formats only what a remark names is lost.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
tamis gen words 400 > keys
printf '%s' 0123456789abcdef > secret
for kind in classic blocked fingerprint exact; do
    tamis build -o a.tamis --kind $kind --expect 1000 --secret-file secret --label a=b keys
    tamis copy -o b.tamis a.tamis && cmp a.tamis b.tamis
done
dcso_file a.bloom
dcso_file_with_data data.bloom
guava_file a.guava
for file in a.bloom data.bloom a.guava; do
    tamis copy -o same $file && cmp $file same
    tamis copy -o a.tamis --format tamis $file
    tamis info a.tamis | grep format
    tamis copy -o back --format "$(sed 's/.*[.]//; s/bloom/dcso/' <<< $file)" a.tamis && cmp $file back
done
tamis build -o a.tamis --kind classic --scheme guava64 --expect 1000 --fpr 1e-3 --label a=b --data-version 2 keys
tamis copy -o a.guava --format guava a.tamis
tamis copy -q -o a.guava --format guava a.tamis
tamis info a.guava | grep -E 'format|keys'
tamis copy -o a.guava --format guava a.guava && tamis info a.guava | grep -c .
