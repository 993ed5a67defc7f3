#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Filters in files, written and read by the real Guava in a JVM and by tamis:
#   files.sh size|fpp JAR...
# The word is the rule for k that this Guava has. Exit status 77: no JVM or no jar here.
set -u
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
rule=$1
shift
for jar in "$@"; do
    [ -e "$jar" ] || { echo "skipped: no $jar"; exit 77; }
done
# The compiler too: the program is run from its source.
command -v java >/dev/null && command -v javac >/dev/null || { echo "skipped: no JDK"; exit 77; }

case ${TAMIS_TEST_SCALE-full} in
    quick | sanitizer) filters=20 ;;
    torture) filters=1000 ;;
    *) filters=100 ;;
esac
seed=${TAMIS_TEST_SEED-$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')}
echo "seed: TAMIS_TEST_SEED=$seed"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" && python3 "$here/files.py" "$TAMIS_INTEROP_DIR/filter_file" "$seed" "$filters" "$rule" "$(IFS=: && echo "$*")"
