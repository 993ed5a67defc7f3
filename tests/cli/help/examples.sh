# SPDX-License-Identifier: BSD-2-Clause
# Every example of every command runs, as typed, and makes something; and every command has one.
. "$TAMIS_SOURCE_DIR/tests/cli/help.bash"

# Those on localhost are run on a server of the test's own.
redis_server=no redis_uri=
if grep -q 'redis://localhost' <(for verb in $(verbs); do examples "$verb"; done) && command -v redis-server > /dev/null; then
    . "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
    redis_start
    redis_server=yes
fi

# The files that examples read, as a user would have them.
mkdir given
tamis gen words 2000 --seed 1 > given/a.log
tamis gen words 2000 --seed 2 > given/b.log
tamis gen clicks 2000 --duplicates 0.1 > given/clicks.log

# try VERB LINE: runs it where there are these files alone. What it makes is printed, or a file.
try() {
    rm -rf work
    cp -r given work
    [[ $redis_server = yes || $2 != *redis://localhost* ]] || return
    (cd work && exec bash -eo pipefail -c "${2//redis:\/\/localhost/$redis_uri}") < /dev/null > out 2> err ||
        echo "$1: status $?: $2: $(head -n 1 err)"
    made=$(cd work && find . -type f -size +0 ! -exec cmp -s {} ../given/{} \; -print)
    [ -s out ] || [ -n "$made" ] || echo "$1: makes nothing: $2"
    [[ $2 == *"tamis $1"* ]] || echo "$1: is not in its example: $2"
}

for verb in $(verbs); do
    examples "$verb" > examples
    [ -s examples ] || echo "$verb: has no example"
    while read -r line; do
        try "$verb" "$line"
        [ ! -e work/once.log ] || awk '!seen[$0]++' given/a.log given/b.log | cmp - work/once.log
    done < examples
done
