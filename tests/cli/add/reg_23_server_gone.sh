# SPDX-License-Identifier: BSD-2-Clause
# If the server goes away after some records, the summary is printed without what only the server knows, and
# the error follows it.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
records() {
    seq 100
    until [ "$(wc -l < out)" = 100 ]; do sleep .05; done # all are answered
    redis_kill $redis_pid 2> none
    seq 101 200
}
for form in --stats --json; do
    disown
    : > out
    records | tamis add --print fresh $form "$redis_uri/seen?expect=1000&fpr=1e-6&patience=300ms" > out 2> err
    echo "status ${PIPESTATUS[1]}, $(wc -l < out) printed"
    grep -oE '^failed +yes|^\{"records": *100|"failed": *true' err | tr -s ' '
    tail -n 1 err | sed -E 's/127.0.0.1:[0-9]+/SERVER/; s/SERVER.*/SERVER/'
    redis_start
done
