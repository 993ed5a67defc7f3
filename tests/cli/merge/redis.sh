# SPDX-License-Identifier: BSD-2-Clause
# Filters on a server are merged with others there and with files, into either; the target is replaced
# atomically.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
for i in 1 2 3; do tamis gen words 400 --seed $i > keys$i; done
shown() {
    sed "s|$redis_uri|SERVER|g; s|127.0.0.1:$redis_port|SERVER|g"
}
cat keys1 keys2 keys3 | sort -u | wc -l
for with in '' '?layout=java&expect=5000&fpr=1e-9'; do
    [ -n "$with" ] && plan=() || plan=(--expect 5000 --fpr 1e-9)
    for i in 1 2 3; do
        tamis build "${plan[@]}" -o "$redis_uri/$i$with" keys$i
    done
    tamis copy -o 3.tamis "$redis_uri/3$with"
    tamis merge -o "$redis_uri/all$with" "$redis_uri/1$with" "$redis_uri/2$with" 3.tamis
    cat keys1 keys2 keys3 | tamis check -c "$redis_uri/all$with"
    tamis merge -o all.tamis "$redis_uri/1$with" "$redis_uri/2$with" "$redis_uri/3$with"
    cat keys1 keys2 keys3 | tamis check -c all.tamis
    # The target is one of the sources.
    tamis merge -o "$redis_uri/1$with" "$redis_uri/2$with" "$redis_uri/1$with"
    cat keys1 keys2 | tamis check -c "$redis_uri/1$with"
    tamis diff "$redis_uri/all$with" all.tamis | shown
    redis_command keys '*push*'
    redis_command flushall > none
done
tamis build --expect 5000 --fpr 1e-9 -o "$redis_uri/1" keys1
tamis build --expect 6000 --fpr 1e-9 -o "$redis_uri/2" keys1
before=$(redis_command hget 'tamis:{1}' plan)
tamis merge -o "$redis_uri/1" "$redis_uri/1" "$redis_uri/2" 2>&1 | shown
tamis merge -o "$redis_uri/1" "$redis_uri/1" "$redis_uri/none" 2>&1 | shown
[ "$before" = "$(redis_command hget 'tamis:{1}' plan)" ] && echo "as it was"
# Keys made by another rule: refused, and the target stays.
tamis build --expect 5000 --fpr 1e-9 --ignore-case -o "$redis_uri/4" keys1
tamis merge -o "$redis_uri/1" "$redis_uri/1" "$redis_uri/4" 2>&1 | shown
[ "$before" = "$(redis_command hget 'tamis:{1}' plan)" ] && echo "as it was"
tamis merge -o "$redis_uri/5" "$redis_uri/4" "$redis_uri/4"
tamis info --json "$redis_uri/5" | grep -o '"ignore_case[^,]*'
