# SPDX-License-Identifier: BSD-2-Clause
# Filters of other programs' layouts on a server: built there, copied from and to a file, and as raw bits.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
java="layout=java&expect=1000&fpr=0.03"
tamis gen words 800 > keys
tamis gen words 2000 | tail -n 1000 > others
count() {
    echo "$1: $(tamis check "$1" keys | wc -l)"
}
tamis build -o "$redis_uri/seen?$java" keys
tamis copy -o seen.tamis "$redis_uri/seen?$java"
tamis copy -o "$redis_uri/other?$java&ttl=1h" seen.tamis
tamis add "$redis_uri/third?$java" keys
for key in other third; do
    [ "$(redis_command getrange bf:seen 0 -2 | md5sum)" = "$(redis_command getrange bf:$key 0 911 | md5sum)" ] && echo "$key: the same"
done
tamis copy --format bitmap -o bits "$redis_uri/seen?$java"
wc -c < bits
tamis copy --format bitmap -o "$redis_uri/fourth?$java" bits
tamis check "$redis_uri/fourth?$java" keys | wc -l
cat bits | tamis copy --format bitmap -o "$redis_uri/fifth?$java" /dev/stdin
tamis copy --format bitmap -o again "$redis_uri/fifth?$java"
cmp again bits && echo "from a pipe: the same"
tamis redis drop "$redis_uri/fifth?$java"
for layout in "php1&bits=20011&probes=4" "php2&bits=20011&probes=4" "php3&bits=20011&probes=4" \
    "redisson&expect=1000&fpr=0.01"; do
    tamis build -o "$redis_uri/p?layout=$layout" keys
    tamis copy -o p.tamis "$redis_uri/p?layout=$layout"
    tamis redis drop "$redis_uri/p?layout=$layout"
    tamis copy -o "$redis_uri/p?layout=$layout" p.tamis
    tamis check "$redis_uri/p?layout=$layout" keys | wc -l
    tamis redis drop "$redis_uri/p?layout=$layout"
done
# More keys than the capacity, as with other programs.
cat keys others | tamis build -o "$redis_uri/full?layout=java&expect=100&fpr=0.03" 2>&1 |
    sed "s|$redis_uri|SERVER|; s/about [0-9.e]*/about N/g"
redis_command keys '*' | LC_ALL=C sort
try() {
    "$@" 2>&1 | sed "s|$redis_uri|SERVER|g; s|127.0.0.1:$redis_port|SERVER|g"
    echo "${PIPESTATUS[0]}"
}
try tamis copy -o "$redis_uri/seen?layout=java&expect=1001&fpr=0.03" seen.tamis
try tamis copy --format bitmap -o "$redis_uri/seen?layout=java&expect=2000&fpr=0.03" bits
try tamis copy --format bitmap -o more seen.tamis
try tamis copy --format bitmap --gzip -o more "$redis_uri/seen?$java"
try tamis copy --format bitmap -o "$redis_uri/seen?$java" nowhere
try tamis build --expect 5 -o "$redis_uri/seen?$java" keys
try tamis build -o "$redis_uri/seen?layout=php3&bits=1e11&probes=4" keys
