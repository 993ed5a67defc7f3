# SPDX-License-Identifier: BSD-2-Clause
# Records that cannot be printed on a full disk are in the filter on the server anyway. Where that can happen,
# one thread works unless more are requested.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
threads() { tamis add --json --print fresh "$@" 2>&1 > out | grep -o '"threads": [0-9]*' | sed 's/[23]$/2 or 3/'; }
seq 40000 > many
threads "$redis_uri/a?expect=1e5&fpr=1e-6" many
threads --threads 3 "$redis_uri/a" many
tamis build -o file --expect 1e5 many
threads --threads 3 file many
tamis add --print fresh "$redis_uri/b?expect=1e5&fpr=1e-6" many > /dev/full
echo "status $?"
[ "$(tamis check --count "$redis_uri/b" many)" -gt 0 ] && echo 'some are in'
