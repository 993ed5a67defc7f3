# SPDX-License-Identifier: BSD-2-Clause
# Files of other programs, recognised by their bytes.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
dcso_file a.bloom
dcso_file_with_data b.bloom
guava_file c.guava
tamis info a.bloom b.bloom c.guava
tamis info --json a.bloom c.guava
