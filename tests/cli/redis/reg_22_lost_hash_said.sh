# SPDX-License-Identifier: BSD-2-Clause
# Every command says that a filter is damaged if its hash was deleted, by its name and by an alias, and drop
# removes it.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
shown() { sed -E "s|127.0.0.1:$redis_port|SERVER|g"; }
seq 100 > keys
tamis build -q -o "$redis_uri/f" keys
tamis redis alias "$redis_uri/today" f
redis_command del 'tamis:{f}' > none
says() {
    "$@" > out 2> err
    echo "$? ${*:2:2}: $(wc -l < out) $(cat err)" | shown
}
for name in f today; do
    says tamis check -c "$redis_uri/$name" keys
    says tamis info "$redis_uri/$name"
    says tamis clear "$redis_uri/$name"
    says tamis copy -o copy.tamis "$redis_uri/$name"
    says tamis add "$redis_uri/$name" keys
    says tamis add "$redis_uri/$name?expect=1000" keys
    says tamis build --resize -q --expect 1e5 -o "$redis_uri/$name" keys
    says tamis redis expire "$redis_uri/$name" 1d
done
says tamis redis alias "$redis_uri/monday" f
says tamis redis drop "$redis_uri/f"
says tamis check -c "$redis_uri/f" keys
