# SPDX-License-Identifier: BSD-2-Clause
# Files of others have no checksums, and it is said.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
dcso_file a.bloom
guava_file c.guava
tamis verify a.bloom c.guava
head -c 50 a.bloom > cut.bloom
tamis verify cut.bloom
echo $?
tamis verify --json a.bloom
