# SPDX-License-Identifier: BSD-2-Clause
# A refused command changes nothing; after a failure the message says what was done before.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
refused() {
    tamis bitmap "$@"
    [ $? = 2 ] || echo "status $?: $*"
}
refused
refused put "$redis_uri/k" 1
refused set
refused set k 1
refused set "$redis_uri" 1
refused set "$redis_uri/k?layout=java" 1
refused set "$redis_uri/k" 1 x
refused set "$redis_uri/k" 1 2=2
refused set "$redis_uri/k" 1 ''
refused set "$redis_uri/k" -1
refused set -- "$redis_uri/k" -1
refused set "$redis_uri/k" 1 4294967296
refused get "$redis_uri/k" 99999999999999999999999
refused get "$redis_uri/k" 1=1
refused get --bits 0:1 "$redis_uri/k" 1
refused count "$redis_uri/k" 1
refused count -q "$redis_uri/k"
refused count --bits 5 "$redis_uri/k"
refused count --bytes 0:1 --bits 0:1 "$redis_uri/k"
refused count --bytes 1:9999999999999999999 "$redis_uri/k"
refused pos "$redis_uri/k"
refused pos "$redis_uri/k" 2
refused op "$redis_uri/k" nand a b
refused op "$redis_uri/k" not a b
refused op "$redis_uri/k" and
redis_command dbsize
seq 1 5000 | sed '4999s/.*/x/' | refused set -q "$redis_uri/k"
tamis bitmap count "$redis_uri/k"
refused set "$redis_uri/k" - < /
redis_command rpush list element
refused set "$redis_uri/list" 1
refused op "$redis_uri/k" or list
redis_kill "$redis_pid"
refused get "$redis_uri/k?patience=50ms" 1
