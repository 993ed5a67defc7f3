#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Typed keys of the command, compared with funnels of the system's Guava (libguava-java) on random keys and
# files.
set -u
jar=${TAMIS_GUAVA_JAR-/usr/share/java/guava.jar}
[ -e "$jar" ] || { echo "skipped: no $jar"; exit 77; }
# Needs the compiler too: the program is run from its source.
command -v java >/dev/null && command -v javac >/dev/null || { echo "skipped: no JDK"; exit 77; }

case ${TAMIS_TEST_SCALE-full} in
    quick | sanitizer) filters=3 ;;
    torture) filters=100 ;;
    *) filters=15 ;;
esac
seed=${TAMIS_TEST_SEED-$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')}
echo "seed: TAMIS_TEST_SEED=$seed"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" && python3 "$TAMIS_SOURCE_DIR/tests/interop/guava/keys.py" "$TAMIS_BUILD_DIR/bin/tamis" "$seed" "$filters" "$jar"
