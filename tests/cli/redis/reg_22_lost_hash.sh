# SPDX-License-Identifier: BSD-2-Clause
# ls lists a filter and a family whose configuration hash alone was lost as damaged, and drop removes it.
# Filters of Redisson with two braces are listed.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
seq 100 > keys
seq 60 | awk '{print "u"$1%7"\tp"$1}' > pairs
tamis build -q -o "$redis_uri/seen" keys
tamis build -q -o "$redis_uri/whole" keys
tamis add "$redis_uri/read:{1}?expect=100&fpr=0.01" pairs
redis_command del 'tamis:{seen}' 'tamis:{read:*}' > none
tamis redis ls "$redis_uri/"
tamis redis ls --json "$redis_uri/se*"
redis_command hset 'tamis:{seen}' pushing x > none
tamis redis ls "$redis_uri/seen"
tamis redis drop "$redis_uri/seen" "$redis_uri/read:*"
tamis redis ls "$redis_uri/"
tamis redis drop "$redis_uri/whole"
redis_command dbsize
echo "# braces in names of Redisson"
for name in '{a}b{c}' '{a}' 'a{b}' 'b'; do
    encoded=$(printf %s "$name" | sed 's/{/%7B/g; s/}/%7D/g')
    tamis add "$redis_uri/$encoded?layout=redisson&expect=1000&fpr=0.01" keys
done
tamis redis ls "$redis_uri/"
