#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One random script of operations, answered by the real Guava in a JVM and by tamis:
#   side_by_side.sh size|fpp JAR...
# The word is the rule for k that this Guava must have. Exit status 77: no JVM or no jar here.
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
    quick | sanitizer) operations=2000 ;;
    torture) operations=200000 ;;
    *) operations=20000 ;;
esac
seed=${TAMIS_TEST_SEED-$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')}
echo "seed $seed"

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
python3 "$here/script.py" "$seed" "$operations" >script || exit 2
java -cp "$(IFS=: && echo "$*")" "$here/GuavaOps.java" script >theirs || exit 2
if ! grep -qx "rule $rule" theirs; then
    echo "$1: not a Guava of rule $rule: $(grep '^rule' theirs)"
    exit 2
fi
"$TAMIS_INTEROP_DIR/guava_ops" script theirs >ours || exit 2
python3 "$here/compare.py" script theirs ours || exit 1

# The whole way must find a mistake of ours: the other rule.
sed 's/^rule size$/rule FPP/; s/^rule fpp$/rule size/; s/^rule FPP$/rule fpp/' theirs >other_rule
"$TAMIS_INTEROP_DIR/guava_ops" script other_rule >wrong || exit 2
if python3 "$here/compare.py" script theirs wrong >/dev/null; then
    echo "answers by the wrong rule are not told from the right ones"
    exit 1
fi
