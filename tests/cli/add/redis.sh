# SPDX-License-Identifier: BSD-2-Clause
# A filter in Redis is made by the first add; a second add uses it, and other parameters are refused.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
seq 1 1000 | tamis add "$redis_uri/seen?expect=1000&fpr=0.001"
seq 998 1003 | tamis add --print fresh "$redis_uri/seen"
seq 998 1003 | tamis add --print seen "$redis_uri/seen?expect=1000" | wc -l
echo 7 | tamis add "$redis_uri/seen?expect=2000"
echo "status $?"
echo 7 | tamis add "$redis_uri/none"
echo "status $?"
# The published example of the Java class.
seq 76930242 76930246 | tamis add "$redis_uri/topic_read:8839540:20190609?layout=java&expect=3000&fpr=0.03&ttl=1h"
redis_command strlen bf:topic_read:8839540:20190609
seq 76930242 2 76930248 | tamis check -v "$redis_uri/topic_read:8839540:20190609?layout=java&expect=3000&fpr=0.03"
redis_command keys '*' | sed 's/:[0-9a-f]\{16\}:/:GENERATION:/' | LC_ALL=C sort
