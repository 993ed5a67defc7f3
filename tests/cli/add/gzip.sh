# SPDX-License-Identifier: BSD-2-Clause
# add, clear and dedup keep a file compressed, with its format and user data; also one with several members.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
is_gzip() { [ "$(head -c 3 "$1" | od -An -tx1)" = " 1f 8b 08" ] && gzip -t "$1"; }
dcso_file_with_data a.bloom
tail -c 20 a.bloom > data
{ head -c 50 a.bloom | gzip; tail -c +51 a.bloom | gzip -n; } > a.gz
chmod 640 a.gz
printf '%s\n' one two | tamis add a.gz
is_gzip a.gz && stat -c %a a.gz
printf '%s\n' zero one two | tamis check a.gz
gzip -dc a.gz | tail -c 20 | cmp - data
gzip -dc a.gz | od -An -tx1 -N8
# The same content as after an add to the plain file.
printf '%s\n' one two | tamis add a.bloom
gzip -dc a.gz | cmp - a.bloom
tamis clear a.gz a.bloom
is_gzip a.gz && gzip -dc a.gz | cmp - a.bloom
# The gzip header has neither time nor name.
cp a.gz b.gz
tamis clear b.gz && cmp a.gz b.gz

printf '%s' 0123456789abcdef > secret
tamis build -o seen.tamis --gzip --expect 100 --secret-file secret --label a=b <<< old
printf '%s\n' old new | tamis dedup --filter seen.tamis --secret-file secret
printf '%s\n' old new newer | tamis dedup --filter seen.tamis --secret-file secret
is_gzip seen.tamis
tamis info seen.tamis | grep labels
printf '%s\n' newer | tamis add seen.tamis
echo $?
