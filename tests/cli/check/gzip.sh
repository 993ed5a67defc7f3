# SPDX-License-Identifier: BSD-2-Clause
# A compressed filter gives the answers of the plain one: alone, among several, and in an audit.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
dcso_file a.bloom
printf '%s' 0123456789abcdef > secret
printf '%s\n' foo baz > some
tamis build -o keyed.tamis --expect 100 --secret-file secret some
tamis build -o b.tamis --expect 100 <<< bar
tamis copy --gzip -o keyed.gz keyed.tamis
gzip -n a.bloom b.tamis
printf '%s\n' foo bar baz qux | tamis check a.bloom.gz
printf '%s\n' foo bar baz qux | tamis check -f a.bloom.gz -f b.tamis.gz -f keyed.gz --secret-file secret
tamis check keyed.gz -k foo
echo $?
tamis check -q b.tamis.gz -k bar
echo $?
head -c -3 a.bloom.gz > cut.gz
tamis check -f b.tamis.gz -f cut.gz -k bar
echo $?
tamis audit a.bloom.gz | tail -n 1
