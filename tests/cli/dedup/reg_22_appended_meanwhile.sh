# SPDX-License-Identifier: BSD-2-Clause
# Another program appends to an output while the run is alive. No byte is overwritten: the run ends with an
# error, and the file has the lines of both.
tamis gen words 100 --seed 1 > a.log
tamis gen words 100 --seed 2 > b.log
mkfifo pipe
for name in o d; do
    rm -rf st o d
    tamis dedup --state st --commit-every 1h pipe -o o --duplicates d 2> said &
    pid=$!
    exec 9> pipe
    cat a.log a.log >&9
    until [ -s o ] && [ -s d ]; do sleep 0.01; done
    echo 'of another program' >> "$name"
    cat b.log b.log >&9
    exec 9>&-
    wait "$pid"
    echo "exit $?"
    grep '^tamis: [od]:' said
    grep -c 'of another' "$name"
    cat a.log b.log > both
    for f in o d; do grep -v 'of another' "$f" | cmp - both; done
done
