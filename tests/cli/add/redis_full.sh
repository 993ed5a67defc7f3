# SPDX-License-Identifier: BSD-2-Clause
# Keys beyond the capacity of a filter on a server: refused as with a file, after the keys before are added;
# or accepted with --allow-over-capacity, with a message about the rate. A layout without a number of keys has no
# capacity.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
hide() { sed "s|$redis_uri|SERVER|; s/has about [0-9]*/has about N/; s/holds about [0-9,]*/holds about N/; s/an unknown number of keys/about N keys/; s/record [0-9]*:/record R:/; s/now about [0-9.e-]*/now about RATE/"; }
seq 5000 > many
for uri in "$redis_uri/a?expect=100&fpr=1e-6" "$redis_uri/b?layout=java&expect=100&fpr=0.01" \
    "$redis_uri/c?layout=redisson&expect=100&fpr=0.01"; do
    seq 50 | tamis add "$uri"
    tamis add "$uri" many 2> said
    echo "status $?"
    hide < said
    count=$(tamis check -c "$uri" many)
    [ "$count" -ge 100 ] && [ "$count" -lt 400 ] && echo 'as many as it was made for'
    seq 100 | tamis add "$uri" && echo 'keys that it has are accepted'
    { yes 1 | head -n 5000 && seq 6000 6400; } | tamis add -q "$uri" 2> said
    echo "status $?"
    tamis add --allow-over-capacity "$uri" many 2>&1 | hide
    tamis check -c "$uri" many
    tamis info "$uri" | grep saturated
done
tamis add -q "$redis_uri/d?layout=php1&bits=100&probes=3" many && echo 'no bound'
# The whole capacity in two runs: the number of keys of the first is an estimate, and must not make the second
# fail.
for half in 1 501; do
    seq $half $((half + 499)) | tamis add "$redis_uri/e?expect=1000&fpr=1e-6" && echo 'half'
done
# A full filter is counted at the beginning and when the first key does not fit, not once more for the
# message.
redis_command config resetstat > before
tamis add -q "$redis_uri/e" many 2> said
redis_command info commandstats | grep -c 'bitcount:calls=2,'
# The number of keys is queried once, and not again at the end.
redis_command config resetstat > before
echo 1 | tamis add "$redis_uri/e"
redis_command info commandstats | grep -c 'bitcount:calls=1,'
redis_command config resetstat > before
echo 1 | tamis add -q --allow-over-capacity "$redis_uri/e"
redis_command info commandstats | grep -c bitcount || true
