# SPDX-License-Identifier: BSD-2-Clause
# Files of other programs have no checksums, and the output says so.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
dcso_file a.bloom
guava_file c.guava
tamis verify a.bloom c.guava
head -c 50 a.bloom > cut.bloom
tamis verify cut.bloom
echo $?
tamis verify --json a.bloom
