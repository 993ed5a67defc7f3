# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
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
cp given/clicks.log given/clicks.jsonl
seq 500000 600000 > given/list
awk 'BEGIN { for (i = 0; i < 300; i++) printf "2026-11-%02d\tu%d\t/page/%d\n", i / 10 + 1, i % 40, i }' > given/visits.tsv
awk 'BEGIN { for (i = 0; i < 300; i++) printf "2026-11-%02d 12:00 %s GET /%d\n", i / 10 + 1, i % 3 ? "user=" i % 40 : "-", i }' > given/app.log
{
    printf 'id,email,"first, last"\r\n'
    awk 'BEGIN { for (i = 0; i < 300; i++) printf "u%d,%s%d@x,\"Q \"\"q\"\"\n%d\"\r\n", i, i % 2 ? "a" : "A", i % 70, i }'
} > given/users.csv
gzip -k given/{a,b,app}.log given/{clicks.jsonl,list,visits.tsv,users.csv}
zstd -q given/clicks.jsonl
cp "$TAMIS_SOURCE_DIR"/docs/examples/guard/demo.* given

# try_compressed LINE: what a line made of the files above it makes of them compressed too.
try_compressed() {
    cp -r given packed
    (cd packed && exec bash -eo pipefail -c "$(sed -E 's/(visits\.tsv|users\.csv|clicks\.jsonl|app\.log|[ab]\.log|list)( |;|$)/\1.gz\2/g' <<< "$1")") \
        < /dev/null > out.packed 2> err || echo "status $? with gzip: $1: $(head -n 1 err)"
    cmp out out.packed
    for file in packed/*; do
        case $file in *.tamis) ;; *) cmp "$file" "work/${file#*/}" ;; esac
    done
    rm -r packed
}

# try VERB LINE: runs it where there are these files alone. What it makes is printed, or a file.
try() {
    rm -rf work
    cp -r given work
    [[ $redis_server = yes || $2 != *redis://localhost* ]] || return
    [[ $2 != *localhost:9092* ]] || return 0 # a Kafka broker: interop/kafka_dedup runs the command
    (cd work && exec bash -eo pipefail -c "${2//redis:\/\/localhost/$redis_uri}") < /dev/null > out 2> err ||
        echo "$1: status $?: $2: $(head -n 1 err)"
    [[ $2 != *"--key "* || $2 == *.zst* ]] || try_compressed "$2"
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
