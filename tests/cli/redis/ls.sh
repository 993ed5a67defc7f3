# SPDX-License-Identifier: BSD-2-Clause
# The list of filters: every layout that can be recognised, aliases, patterns, states, and keys that are not
# filters.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
tamis redis ls "$redis_uri/"
echo "none: $?"
seq 100 | tamis add "$redis_uri/seen?expect=1000&fpr=0.01&partition=1024"
seq 100 | tamis add "$redis_uri/topic:1:2?layout=java&expect=3000&fpr=0.03&ttl=1d"
seq 100 | tamis add "$redis_uri/r?layout=redisson&expect=1000&fpr=0.01"
seq 100 | tamis add "$redis_uri/r%7B1%7D?layout=redisson&expect=1000&fpr=0.01"
seq 100 | tamis add --allow-over-capacity -q "$redis_uri/odd%20%2Fname?expect=10&fpr=0.5"
seq 100 | tamis add "$redis_uri/hidden?layout=php1&bits=1000&probes=4"
printf 'a\tk\nb\tl\n' | tamis add "$redis_uri/user%2F{1}?expect=100&fpr=0.01"
tamis redis alias "$redis_uri/today" seen
redis_command set bf: x > none
redis_command hset plain:config a b > none
redis_command hset 'tamis:{half}' plan "$(redis_command hget 'tamis:{seen}' plan | sed s/layout=2/layout=1/)" > none
redis_command hset 'tamis:{hurt}' plan "layout=3" > none
redis_command hset 'tamis:{left}' before "layout=1" > none
redis_command set 'tamis:{text}' x > none
shown() {
    sed -E 's/\t(863[0-9]{2}|86400)\t/\tDAY\t/; s/"expires": 86[0-9.]+/"expires": DAY/'
}
tamis redis ls "$redis_uri/" | shown
tamis redis ls "$redis_uri/t*" | shown
tamis redis ls --json "$redis_uri/t*" | shown
tamis redis ls --json "$redis_uri/user*" | shown
tamis redis ls "$redis_uri/1/"
# A printed name with a brace names that filter again, not a family.
tamis check "$redis_uri/$(tamis redis ls "$redis_uri/r%7B*" | cut -f 1)?layout=redisson" <(echo 7)
tamis redis drop "$redis_uri/left"
tamis redis ls "$redis_uri/left"
redis_command acl setuser clerk on '>secret' '~*' '+@all' '-scan' > none
tamis redis ls "redis://clerk:secret@127.0.0.1:$redis_port/" 2>&1 | sed "s/$redis_port/PORT/g; s/ (.*)/ (...)/"
tamis redis ls "$redis_uri/" more
tamis redis ls seen
tamis redis drop --json "$redis_uri/seen"
