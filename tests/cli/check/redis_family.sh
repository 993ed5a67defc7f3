# SPDX-License-Identifier: BSD-2-Clause
# A family of filters in Redis is queried with records that name the filters.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
family="$redis_uri/topic_read:{1}:{2}?expect=100&fpr=1e-6"
printf '1\tmon\ta\n2\tmon\ta\n1\ttue\tb\n' | tamis add "$family"
printf '1\tmon\ta\n1\tmon\tb\n1\ttue\tb\n3\twed\tc\n' >records
tamis check "$redis_uri/topic_read:{1}:{2}" records
tamis check -c "$family" records
tamis check -v -f "$family" records
tamis check -q "$family" records; echo "status $?"
printf '9\tmon\ta\n' | tamis check "$family"; echo "status $?"
# Each filter has its own generation: a dropped one is not queried any more.
redis_command exists 'tamis:{topic_read:*:*}'
tamis redis drop "$redis_uri/topic_read:*:*"
tamis check "$family" records 2>&1 | sed "s/$redis_port/PORT/g"
# With a secret.
head -c 32 /dev/zero >secret
tamis add --secret-file secret "$family" records
tamis check -c --secret-file secret "$family" records
tamis check "$family" records 2>&1 | sed "s/$redis_port/PORT/g"
head -c 33 /dev/zero >other
tamis check --secret-file other "$family" records 2>&1 | sed "s/$redis_port/PORT/g"
tamis check --secret-file secret "$redis_uri/{1}?layout=java&expect=10&fpr=0.1" records 2>&1 | sed "s/$redis_port/PORT/g"
# Refused: a family with a key on the command line, or with another filter; --delimiter without a family.
tamis check -k a -f redis://localhost/{1}
tamis check -f redis://localhost/{1} -f a.tamis records
tamis check --delimiter , a.tamis records
printf '1\tmon\ta\n1\n' | tamis check --secret-file secret "$family"; echo "status $?"
