# SPDX-License-Identifier: BSD-2-Clause
# A filter that replaces another on a server gets that one's time of expiry, unless the URI says otherwise.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
seq 100 > keys
left() {
    local ms
    ms=$(redis_command pttl "$1")
    case $ms in
        -1) echo never ;;
        *) [ "$ms" -gt "$2" ] && [ "$ms" -le "$3" ] && echo "in $3 ms at the most" ;;
    esac
}
for uri in "$redis_uri/a?layout=tamis" "$redis_uri/b?layout=java&expect=1000&fpr=0.01" \
    "$redis_uri/c?layout=redisson&expect=1000&fpr=0.01"; do
    case $uri in
        */a*) key='tamis:{a}' ;;
        */b*) key=bf:b ;;
        *) key=c ;;
    esac
    tamis build -o "$uri" keys
    left "$key"
    tamis redis expire "$uri" 1000
    left "$key" 500000 1000000
    tamis build -o "$uri" keys
    left "$key" 500000 1000000
    tamis build -o "$uri&ttl=2000" keys
    left "$key" 1500000 2000000
done
tamis clear "$redis_uri/a"
left 'tamis:{a}' 1500000 2000000
