# SPDX-License-Identifier: BSD-2-Clause
# The names of a family's filters are made of fields in any order, and the key of all fields that no name
# takes.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
split() { # TEMPLATE RECORD: the record's key, and the Redis key of its filter
    printf "$2\n" | tamis check -c --trace --delimiter , "$redis_uri/$1?layout=java&expect=10&fpr=0.1" 2>&1 |
        sed -E "s/^(record=)?([^\t]*)\tinstance=[^\t]*\tkey=([^\t]*)\t.*/\3 \2/; s/$redis_port/PORT/; /^0\$/d"
}
split 'n{1}' a,b,c
split 'n{2}' a,b,c
split 'n{3}' a,b,c
split '{3}{1}' a,b,c
split '{4}-{2}-{4}' a,b,c,d,e
split 'n{2}' ',b,,'
split 'n{1}' 'a,'
split '{1}{2}' a,,b
split '{1}{2}' ,,b
split 'n{1}{2}' a,b
split 'n{4}' a,b
split 'n{1}' ''
