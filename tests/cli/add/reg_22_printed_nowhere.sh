# SPDX-License-Identifier: BSD-2-Clause
# A failed add --print fresh reports the number of keys that it has added on a server but not printed.
# Together with the printed lines they are the keys of the filter.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
seq 20000 > many
said() { tee -a words < "$1" | sed -n 's/.*: \([0-9,]*\) new keys* .*/\1/p' | tr -d ,; }
has() { tamis check --count "$redis_uri/$1" many; }
agrees() { # NAME LINES
    local reported
    reported=$(said words.$1)
    [ "$((reported + $2))" = "$(has $1)" ] && [ "$reported" -gt 0 ] || echo "$1: $reported said, $2 printed, $(has $1) in it"
}
plan='expect=1e5&fpr=1e-9'
tamis add --print fresh "$redis_uri/full?$plan" many 2> words.full > /dev/full
echo "status $?"
agrees full 0
for threads in 1 3; do # the file ends within a line
    (trap '' XFSZ; ulimit -f 20; tamis add --threads $threads --print fresh "$redis_uri/limit$threads?$plan" many) 2> words.limit$threads > out
    agrees limit$threads $(wc -l < out)
done
# Also if the reader of a pipe has gone.
tamis add --print fresh "$redis_uri/pipe?$plan" many 2> words.pipe | sed -n 1q
echo "status ${PIPESTATUS[0]}"
[ "$(said words.pipe)" -gt 0 ] || echo 'nothing was said'
# Also with a family, whose filters are named by fields.
sed 's/$/\tone/' many | tamis add --print fresh "$redis_uri/all_{2}?$plan" 2> words.family > /dev/full
[ "$(said words.family)" -gt 0 ] || echo 'nothing was said of a family'
# Keys that were under way when the server fell silent are unknown.
tamis add "$redis_uri/silent?$plan" < /dev/null
redis_command client pause 60000 write > none
head -10 many | tamis add --print fresh "$redis_uri/silent?patience=300ms"
echo "status $?"
redis_command client unpause > none
# Without --print fresh nothing was to be printed.
tamis add --print seen "$redis_uri/full" many > /dev/full
sed -E 's/^([^:]*): .*127.0.0.1:[0-9]+/\1: SERVER/; s/[0-9,]+ new/N new/; s/([?][^:]*)?: N new/: N new/' words | sort -u
