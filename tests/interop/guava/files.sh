#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Filters in files, written and read by the real Guava in a JVM and by tamis: files.sh size|fpp JAR...
# (jars.bash)
set -u
here=$TAMIS_SOURCE_DIR/tests/interop/guava
. "$here/jars.bash"
cd "$work" && python3 "$here/files.py" "$TAMIS_INTEROP_DIR/filter_file" "$seed" "$(scaled 20 100 1000)" "$rule" "$classpath"
