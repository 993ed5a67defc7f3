# SPDX-License-Identifier: BSD-2-Clause
# The keys go, all else stays; of a keyed one without its secret, of others in their format.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
tamis gen words 400 > keys
printf '%s' 0123456789abcdef > secret
for kind in classic blocked fingerprint exact; do
    tamis build -o a.tamis --kind $kind --expect 1000 --secret-file secret --label a=b --data-version 4 keys
    tamis info a.tamis | grep -vE 'fill|keys  |rate now' > before
    tamis clear a.tamis
    tamis info a.tamis | grep -vE 'fill|keys  |rate now' | diff before -
    tamis info a.tamis | grep 'keys  '
    tamis verify a.tamis
done
dcso_file_with_data a.bloom
guava_file a.guava
chmod 640 a.bloom
tamis clear -q a.bloom a.guava
tamis info a.bloom a.guava | grep -E 'format|data|keys  '
tail -c 21 a.bloom
stat -c %a a.bloom
