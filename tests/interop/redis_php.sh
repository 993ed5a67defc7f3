#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Layouts php1, php2 and php3, compared with PHP and php-redis on random repeated keys, on one server and on
# three. Each side gives the answers of the other, sees what the other wrote, and removes it. For filters with
# more bits than fit a Redis here, only the positions are compared.
set -u
php -m 2>/dev/null | grep -qx redis || { echo "skipped: no php with its redis module (php-cli, php-redis)"; exit 77; }
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
ports=() sockets=()
for server in 1 2 3; do
    redis_start
    ports+=("127.0.0.1:$redis_port") sockets+=("$redis_socket")
done
here=$TAMIS_SOURCE_DIR/tests/interop
ours=$TAMIS_INTEROP_DIR/redis_filter

# keys COUNT DIFFERENT: lines of hexadecimal digits, some empty
keys() {
    php -r 'mt_srand((int) $argv[1] + (int) $argv[4]); for ($i = 0; $i < $argv[2]; $i++)
        echo bin2hex(substr(md5((string) mt_rand(1, (int) $argv[3]), true), 0, mt_rand(0, 40) ? 16 : mt_rand(0, 2))), "\n";' \
        "$seed" "$1" "$2" "$3"
}
die() { echo "$*"; exit 1; }

# compare_answers VERSION BITS PROBES SERVERS
compare_answers() {
    local IFS=,
    local addresses="${ports[*]:0:$4}" paths="${sockets[*]:0:$4}"
    local uri="redis+shard://$addresses/seen?layout=php$1&bits=$2&probes=$3" php=("$here/redis.php" "$paths" "$1")
    [ "$4" -gt 1 ] || uri=redis://${uri#*://}
    tamis() { "$ours" "$1" "$uri" || exit 1; }
    php() { command php "${php[@]}" "$1" "$bits" "$probes" "$servers" || exit 1; }
    local bits=$2 probes=$3 servers=$4
    # Adds the same records by one side and, after the other has cleared the filter, by the other: the same
    # answers and bits.
    php add <"$work/keys" >"$work/php"
    tamis ask <"$work/others" >"$work/tamis.asked"
    php ask <"$work/others" | cmp - "$work/tamis.asked" || die "php$*: answers to questions differ"
    sort -u "$work/tamis.asked" | tr -d '\n' | grep -qx 01 || die "php$*: no two answers"
    redis_dump >"$work/php.bits"
    [ "$(cut -d " " -f 1 "$work/php.bits" | sort -u | wc -l)" -eq "$4" ] || die "php$1: not on $4 servers"
    tamis clear
    [ -z "$(redis_dump)" ] || die "php$1: tamis does not remove what php wrote"
    tamis add <"$work/keys" | cmp - "$work/php" || die "php$*: answers to adds differ"
    redis_dump | cmp - "$work/php.bits" || die "php$*: bits differ"
    php ask <"$work/others" | cmp - "$work/tamis.asked" || die "php$*: php does not see what tamis wrote"
    # Then each adds to the filter of the other.
    php add <"$work/others" >"$work/php"
    tamis add <"$work/others" | sort -u | grep -qx 1 || die "php$*: tamis does not see what php added"
    php clear
    [ -z "$(redis_dump)" ] || die "php$1: php does not remove what tamis wrote"
    # A filter of that name in a family, next to another one.
    tamis family <"$work/keys"
    php ask <"$work/others" | cmp - "$work/tamis.asked" || die "php$*: php does not see what a family wrote"
    for socket in "${sockets[@]}"; do redis-cli -s "$socket" flushall >/dev/null; done
}

# Prints the names and bytes of all keys on each server.
redis_dump() {
    command php -r 'foreach (array_slice($argv, 1) as $server => $socket) {
        $redis = new Redis(); $redis->connect($socket); $keys = $redis->keys("*"); sort($keys);
        foreach ($keys as $key) echo "$server $key ", md5($redis->get($key)), " ", $redis->bitCount($key), "\n"; }' \
        "${sockets[@]}"
}

keys "$(scaled 1000 2000 50000)" 700 1 >"$work/keys"
keys "$(scaled 500 1000 20000)" 2000 2 >"$work/others"
for version in 1 2 3; do
    compare_answers $version 21895 5 1
    compare_answers $version 9001 12 1
    compare_answers $version 20000003 24 1
done
for version in 2 3; do
    compare_answers $version 21895 5 3
    compare_answers $version 20000003 24 3
    compare_answers $version 9001 12 2
done

# compare_positions VERSION BITS PROBES SERVERS: compares the positions of bits.
compare_positions() {
    command php "$here/redis.php" - "$1" places "$2" "$3" "$4" <"$work/others" >"$work/php" || exit 1
    "$ours" positions "$4" "seen?layout=php$1&bits=$2&probes=$3" <"$work/others" | cmp - "$work/php" ||
        die "php$1: positions differ with $2 bits, $3 probes and $4 servers"
}
for bits in 350000000 4294967296 4294967297 8589934592 100000000000 4503599627370497; do
    for servers in 1 2 3 7; do
        compare_positions 2 $bits 13 $servers
        compare_positions 3 $bits 24 $servers
    done
done
compare_positions 1 4294967296 24 1
# One probe less must be noticed.
"$ours" positions 1 'seen?layout=php1&bits=4294967296&probes=23' <"$work/others" | cmp -s - "$work/php" &&
    die "a mistake is not noticed"
exit 0
