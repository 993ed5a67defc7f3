# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# Commands that replace or clear a filter on a server wait while another process changes it, as with a file.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
shown() { sed "s|redis 127.0.0.1:[0-9]*|SERVER|; s|redis://127.0.0.1:[0-9]*|URI|g"; }
busy() { redis_command set 'tamis:{f}:push' other px "${1:-1500}" > none; }
uri=$redis_uri/f
seq 1000 > keys
tamis build -o f.tamis --kind blocked keys
busy 60000
tamis build --lock-wait 0 -o "$uri" keys 2>&1 | shown
tamis build -o "$uri" keys 2> err &
until grep -qs 'waiting for at most 60 seconds' err; do sleep 0.02; done
redis_command del 'tamis:{f}:push' > none
wait $!
echo "status $?, $(tamis check -c "$uri" keys)"
shown < err
for command in "build --resize --expect 2000 --fpr 1e-3 -o $uri keys" "copy -o $uri f.tamis" "clear $uri" \
    "merge -o $uri f.tamis f.tamis"; do
    busy 60000
    tamis $command --lock-wait 0 > none 2>&1
    echo "${command%% *}: status $?"
    busy 700
    tamis $command > none 2>&1
    echo "${command%% *}: status $?, $(tamis check -c "$uri" keys)"
done
# A signal ends the wait.
busy 60000
for command in "build -o $uri keys" "copy -o $uri f.tamis" "clear $uri"; do
    rm -f err
    tamis $command 2> err &
    until grep -qs 'waiting for at most 60 seconds' err; do sleep 0.02; done
    kill -TERM $!
    wait $!
    echo "${command%% *}: status $?"
done
