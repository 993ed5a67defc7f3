# SPDX-License-Identifier: BSD-2-Clause
# A family of filters in Redis: fields of a record name the filter, and the rest is the key. The published
# example of the Java class, which finds its filters under their names; and layout tamis.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
java='layout=java&expect=3000&fpr=0.03'
for id in 42 43 44 45 46; do
    printf '8839540\t20190609\t769302%d\n7\t20190609\t769302%d\n' $id $((id + 2))
done | tamis add --json "$redis_uri/topic_read:{1}:{2}?$java&ttl=1h" 2>&1 | sed 's|"files".*||' | grep -o '"records": 10, "added": 10, "present": 0, "unknown'
redis_command keys '*' | LC_ALL=C sort
[ "$(redis_command ttl bf:topic_read:7:20190609)" -gt 3500 ] || echo "does not expire"
seq 76930242 2 76930248 | tamis check -v "$redis_uri/topic_read:8839540:20190609?$java"
# The same bits as those of one filter.
seq 76930242 76930246 | tamis add "$redis_uri/one?$java"
[ "$(redis_command get bf:one | cksum)" = "$(redis_command get bf:topic_read:8839540:20190609 | cksum)" ] || echo "other bits"
redis_command flushall >/dev/null
# Fields in any order, at any position; records are printed unchanged.
printf 'k,2,1,l\nk,2,3,l\nk,2,1,l\nk,2,1,m\n,2,1,l\n' >records
tamis add --delimiter , --print fresh "$redis_uri/x%2F{3}%7B{2}?expect=100&fpr=0.001" records 2>&1 | sed "s/$redis_port/PORT/"
tamis add --delimiter , --print seen "$redis_uri/x%2F{3}%7B{2}?layout=php1&bits=1000&probes=7" records
redis_command keys '*' | sed 's/:[0-9a-f]\{16\}}/:GENERATION}/' | LC_ALL=C sort
redis_command flushall >/dev/null
tamis add --delimiter , --print fresh "$redis_uri/y%2F{3}:{2}?expect=100&fpr=0.001" records
tamis add --delimiter , --print fresh "$redis_uri/y%2F{3}:{2}?expect=100&fpr=0.001" records
redis_command keys '*' | sed 's/:[0-9a-f]\{16\}}/:GENERATION}/' | LC_ALL=C sort
# Keys that are numbers, and invalid numbers.
printf 'a\t1\na\t01\na\tone\na\t2\n' | tamis add --type int64 --print fresh "$redis_uri/n:{1}?expect=100&fpr=0.001"
echo "status $?"
# Records before one without the field are added.
printf 'a\tb\tc\na\tb\nd\te\tf\n' >short
tamis add --stats "$redis_uri/s:{3}?$java" short 2>&1 | sed '/^seconds\|^rate/d'
tamis add "$redis_uri/s:{1}?$java" short short && tamis check -c "$redis_uri/s:a?$java" -k b
printf 'only\n' | tamis add "$redis_uri/s:{1}?$java"
printf '\tk\n' | tamis add "$redis_uri/{1}?$java"
printf '%0600d\tk\n' 7 | tamis add "$redis_uri/s:{1}?$java" 2>&1 | cut -c 1-200
redis_command keys 'bf:s:*' | LC_ALL=C sort
# Options that a family does not support.
for name in '{0}' 'a{99999999999999999999}'; do
    tamis add "redis://localhost/$name?$java" short
done
tamis add --delimiter '' "redis://localhost/{1}" short
tamis add --delimiter :: "redis://localhost/{1}" short
tamis add --delimiter : "redis://localhost/1" short
tamis build -o "redis://localhost/{1}" short
tamis info "redis://u:secret@localhost/{1}"
tamis copy -o x.tamis "redis://localhost/{1}"
tamis redis drop "redis://localhost/{1}"
tamis redis expire "redis://localhost/{1}" 1d
printf 'a\tk\n' | tamis add "$redis_uri/r:{1}?layout=redisson&expect=10&fpr=0.1" 2>&1 | sed "s/$redis_port/PORT/"
# Braces without a field number are bytes of the name.
echo k | tamis add "$redis_uri/{tag}:%7B1}?$java"
redis_command exists 'bf:{tag}:{1}'
