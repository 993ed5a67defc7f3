# SPDX-License-Identifier: BSD-2-Clause
# A drop that too few replicas confirm says that it took effect, and clean removes the rest.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
shown() { sed -E "s|127.0.0.1:$redis_port|SERVER|g; s/[0-9a-f]{16}/GENERATION/g"; }
seq 10 | tamis build -q -o "$redis_uri/f"
tamis redis drop "$redis_uri/f?replicas=1&patience=300ms" 2> err
echo "$?"
shown < err
tamis redis ls "$redis_uri/f" | cut -f 1-3
tamis redis clean "$redis_uri/f" | shown
redis_command dbsize
