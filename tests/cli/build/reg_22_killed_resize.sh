# SPDX-License-Identifier: BSD-2-Clause
# After a killed resize, the next one says how to end it: waiting does not.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
shown() { sed "s|redis 127.0.0.1:[0-9]*|SERVER|; s|redis://127.0.0.1:[0-9]*|URI|g"; }
uri=$redis_uri/seen
seq 1000 > keys
tamis build -q -o "$uri" --expect 3000 keys
mkfifo input
tamis build --resize -o "$uri" --expect 6000 input 2> said &
exec 3> input
until grep -qs 'from now on' said; do sleep 0.01; done
{ kill -KILL $! && wait $!; } 2> none
exec 3>&-
tamis build -q --resize --lock-wait 0 -o "$uri" --expect 6000 keys 2>&1 | shown
tamis redis clean "$redis_uri/" | cut -f 1-2
tamis build -q --resize --lock-wait 0 -o "$uri" --expect 6000 keys
tamis check -c "$uri" keys
