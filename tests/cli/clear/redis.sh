# SPDX-License-Identifier: BSD-2-Clause
# A filter on a server loses its keys and stays what it is, in every layout.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
tamis gen words 400 | sort -u > keys
shown() {
    sed "s|$redis_uri|SERVER|g; s|127.0.0.1:$redis_port|SERVER|g"
}
for with in '' '?layout=java&expect=1000&fpr=0.001' '?layout=php1&bits=20000&probes=9' '?layout=php2&bits=20000&probes=9' \
    '?layout=php3&bits=20000&probes=9' '?layout=redisson&expect=1000&fpr=0.001'; do
    uri=$redis_uri/seen$with
    tamis add "$uri$([ -n "$with" ] || echo '?expect=1000&fpr=0.001&partition=512')" keys
    tamis clear "$uri"
    echo "${with:-?layout=tamis}: $(tamis check -c "$uri" keys)"
    tamis add "$uri" keys
    tamis check -c "$uri" keys
    [ -n "$with" ] || tamis info "$uri" | grep -E 'capacity|bits|probes'
    redis_command flushall > none
done
# The expiry stays with it.
tamis add "$redis_uri/day?expect=1000&fpr=0.01&ttl=1d" keys
tamis clear -q "$redis_uri/day"
for key in $(redis_command keys 'tamis:*'); do
    [ "$(redis_command ttl "$key")" -gt 0 ] || echo "$key stays for ever"
done
tamis check -c "$redis_uri/day" keys
tamis clear "$redis_uri/none" 2>&1 | shown
echo "${PIPESTATUS[0]}"
tamis clear "$redis_uri/{1}" 2>&1 | shown
redis_command acl setuser clerk on '>secret' '~*' '+@read' > none
tamis clear "redis://clerk:secret@127.0.0.1:$redis_port/day" 2>&1 | sed 's/ (.*//' | shown | cut -c 1-60
