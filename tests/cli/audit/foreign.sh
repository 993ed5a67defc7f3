# SPDX-License-Identifier: BSD-2-Clause
# Files of other programs are audited like .tamis files.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
dcso_file a.bloom
guava_file a.guava
printf 'foo\nbar\n' | tamis audit --queries 20000 a.bloom -
printf 'foo\nbaz\n' | tamis audit --queries 2000 --json a.bloom -
tamis audit --queries 20000 a.guava
