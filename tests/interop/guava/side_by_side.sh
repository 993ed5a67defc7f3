#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One random script of operations, answered by the real Guava in a JVM and by tamis: side_by_side.sh size|fpp
# JAR... (jars.bash)
set -u
here=$TAMIS_SOURCE_DIR/tests/interop/guava
. "$here/jars.bash"
cd "$work" || exit 2
python3 "$here/script.py" "$seed" "$(scaled 2000 20000 200000)" >script || exit 2
java -cp "$classpath" "$here/GuavaOps.java" script >theirs || exit 2
if ! grep -qx "rule $rule" theirs; then
    echo "$classpath: not a Guava of rule $rule: $(grep '^rule' theirs)"
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
