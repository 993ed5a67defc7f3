# SPDX-License-Identifier: BSD-2-Clause
# The description of a filter in Redis, without the password.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start --requirepass secret
uri=redis://:secret@127.0.0.1:$redis_port
seq 1 900 | tamis add "$uri/seen?expect=1000&fpr=0.01"
tamis info "$uri/seen" | sed "s/$redis_port/PORT/"
tamis info --json "$uri/seen" | sed "s/$redis_port/PORT/"
seq 1 900 | tamis add "$uri/java?layout=java&expect=1000&fpr=0.01"
tamis info "$uri/java?layout=java&expect=1000&fpr=0.01" | sed "s/$redis_port/PORT/"
tamis verify "$uri/seen"; echo "status $?"
