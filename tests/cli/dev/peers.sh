# SPDX-License-Identifier: BSD-2-Clause
# What ./dev peers fetches is what was pinned, or nothing; a script plays Maven here.
mkdir -p bin build mirror tests/peers
cp "$TAMIS_SOURCE_DIR/dev" .
sed -n 's/^packages_peers="\(.*\)"$/\1/p' dev > build/.setup-peers # nothing is installed
cat > bin/mvn <<'END'
#!/bin/bash
for option in "$@"; do
    case $option in -DoutputDirectory=*) cp -r mirror "${option#*=}" 2> /dev/null ;; esac
done
ls mirror/*.jar > /dev/null 2>&1 || { echo 'no such host'; exit 1; }
END
chmod +x bin/mvn
export PATH=$PWD/bin:$PATH
try() {
    ./dev "$@"
    echo "$*: $?"
}
echo 'the peer' > pinned
sha256sum < pinned | sed 's/-$/a.jar/' > tests/peers/checksums
try peers
echo 'something else' > mirror/a.jar
try peers
ls build/peers
try test --peers
cp pinned mirror/a.jar
try peers
ls build/peers
# There already: Maven is not asked.
rm bin/mvn mirror/a.jar
try peers
