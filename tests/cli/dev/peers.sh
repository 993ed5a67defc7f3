# SPDX-License-Identifier: BSD-2-Clause
# What ./dev peers fetches is what was pinned, or nothing; curl is played by a script here.
mkdir -p bin build mirror
cp "$TAMIS_SOURCE_DIR/dev" .
sed -n 's/^packages_peers="\(.*\)"$/\1/p' dev > build/.setup-peers # nothing is installed
cat > bin/curl <<'END'
#!/bin/bash
url=${!#}
while [ "$1" != --output ]; do shift; done
cp "mirror/${url##*/}" "$2" 2> /dev/null
END
chmod +x bin/curl
export PATH=$PWD/bin:$PATH TAMIS_MAVEN_URL=https://mirror.example
try() {
    ./dev "$@"
    echo "$*: $?"
}
try peers
echo 'something else' > mirror/guava-33.5.0-jre.jar
try peers
ls build/peers
try test --peers
