# SPDX-License-Identifier: BSD-2-Clause
# A bitmap of user numbers for each day: users of both days, of either day, of exactly one, not on Monday;
# counted in whole and in part.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
seq 0 3 1000 | tamis bitmap set -q "$redis_uri/mon"
seq 0 5 2000 | tamis bitmap set "$redis_uri/tue" | sort | uniq -c | tr -s ' '
for day in mon tue; do
    tamis bitmap count "$redis_uri/$day"
done
for op in and or xor; do
    echo "$op $(tamis bitmap op "$redis_uri/$op" $op mon "$redis_uri/tue") $(tamis bitmap count "$redis_uri/$op")"
done
echo "not $(tamis bitmap op "$redis_uri/not" not mon) $(tamis bitmap count "$redis_uri/not")"
tamis bitmap op -q "$redis_uri/tue" and tue mon && tamis bitmap count "$redis_uri/tue"
tamis bitmap count --bytes 0:1 "$redis_uri/mon"
tamis bitmap count --bits 1:15 "$redis_uri/mon"
tamis bitmap count --bits 990: "$redis_uri/mon"
tamis bitmap count --bits=-9:-1 "$redis_uri/mon"
tamis bitmap pos "$redis_uri/mon" 0
tamis bitmap pos --bits 1: "$redis_uri/mon" 1
tamis bitmap pos --bytes 125:-1 "$redis_uri/mon" 1
tamis bitmap pos --bits 1:2 "$redis_uri/mon" 1
echo "status $?"
# A combination of missing bitmaps removes the target.
tamis bitmap op "$redis_uri/or" and none nobody
redis_command exists or
