# SPDX-License-Identifier: BSD-2-Clause
# The command line of files.sh and side_by_side.sh, RULE JAR...: into $rule and $classpath. RULE, size or fpp,
# is the one for k that this Guava has. Ends with 77 where there is no JVM or no jar.
rule=$1
shift
for jar in "$@"; do
    [ -e "$jar" ] || { echo "skipped: no $jar"; exit 77; }
done
# The compiler too: the programs are run from their source.
command -v java >/dev/null && command -v javac >/dev/null || { echo "skipped: no JDK"; exit 77; }
classpath=$(IFS=: && echo "$*")
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
