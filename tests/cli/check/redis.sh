# SPDX-License-Identifier: BSD-2-Clause
# Filters in Redis are queried like those in files, and together with them. An error is one message without
# the password.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start --requirepass secret
uri=redis://:secret@127.0.0.1:$redis_port
seq 1 100 | tamis add "$uri/hundred?expect=100&fpr=1e-6"
seq 51 150 | tamis build -q -o fifty.tamis
seq 99 102 | tamis check "$uri/hundred"
seq 99 102 | tamis check -c -v "$uri/hundred"
printf '1\n99\n120\n200\n' | tamis check -f "$uri/hundred" -f fifty.tamis | sed "s/$redis_port/PORT/"
tamis check -q -k 7 -f "$uri/hundred"; echo "status $?"
tamis check -q -k 700 -f "$uri/hundred"; echo "status $?"
for wrong in "$uri/none" "$uri/hundred?fpr=0.1" "$uri/hundred?frp=0.1" "redis://127.0.0.1:$redis_port/hundred" \
    "redis://:wrong@127.0.0.1:$redis_port/hundred" "redis://127.0.0.1:1/hundred?patience=1ms" "http://127.0.0.1/hundred"; do
    echo 7 | tamis check "$wrong" 2>&1 | sed "s/$redis_port/PORT/g"
done
tamis check -k 7 -f "$uri/hundred" -f "$uri/none" 2>&1 | sed "s/$redis_port/PORT/g"
redis_command -a secret --no-auth-warning del "$(redis_command -a secret --no-auth-warning keys 'tamis:{hundred:*')" >/dev/null
echo 7 | tamis check "$uri/hundred" 2>&1 | sed "s/$redis_port/PORT/g"
