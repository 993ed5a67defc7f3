# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# Several followed logs of a window by time are merged by their times: the backlog of one makes no other late.
. "$TAMIS_SOURCE_DIR/tests/support/follow.bash"
window='--follow-input --window 1h --step 15m --time json:/t --key json:/k -q'
# logs FROM TO: two days, the same keys in three logs: each second, every ten minutes, and a hundred at once
logs() {
    seq "$1" "$2" | awk '{
        line = sprintf("{\"t\": %d, \"k\": \"%d\"}", 1700000000 + $1, $1)
        print line > "a.log.new"
        if ($1 % 600 == 0) print line > "b.log.new"
        if ($1 % 10000 == 0) for (i = 0; i < 100; i++) print line > "c.log.new"
    }'
    for name in a b c; do cat $name.log.new >> $name.log; done
}
each_once() { # FILE
    echo "$(wc -l < "$1") records, $(sort -u "$1" | wc -l) different"
}
logs 1 60000
echo 'with a state, and a backlog after a stop'
tamis dedup --state seen $window a.log b.log c.log -o once &
has once '{"t": 1700060000, "k": "60000"}'
stop -KILL
logs 60001 100000
mv a.log a.log.1 # while nothing follows it
logs 100001 172800
tamis dedup --state seen $window a.log b.log c.log -o once 2> /dev/null &
has once '{"t": 1700172800, "k": "172800"}'
stop -TERM
each_once once
cat a.log.1 a.log > whole && mv whole a.log
echo 'without a state'
tamis dedup $window a.log b.log c.log > plain &
has plain '{"t": 1700172800, "k": "172800"}'
stop -TERM
each_once plain
echo 'with a header'
for name in a b c; do
    { echo 't,k'; sed 's/.*: \([0-9]*\), .*"\([0-9]*\)".*/\1,\2/' $name.log; } > $name.csv
done
tamis dedup ${window//json:\//csv:} a.csv b.csv c.csv > columns &
has columns '1700172800,172800'
stop -TERM
each_once columns
echo 'the first of the files, and no lateness'
printf '%s\n' t,k 1700000500,late > late.csv
printf '%s\n' t,k 1700000000,early > early.csv
tamis dedup ${window//json:\//csv:} --lateness 1ms --late drop late.csv early.csv > ordered &
has ordered 1700000500,late
stop -TERM
cat ordered
echo 'a record that is larger than all buffers'
{ printf '{"t": 1700000000, "k": "'; head -c 68000000 /dev/zero | tr '\0' x; echo '"}'; } > large.log
echo '{"t": 1700000001, "k": "small"}' | tee -a large.log > small.log
tamis dedup $window large.log small.log > sizes &
has sizes '{"t": 1700000001, "k": "small"}'
stop -TERM
wc -lc < sizes | tr -s ' '
rm large.log small.log
echo 'a pattern, and a record without a time'
echo 'oops' >> b.log
tamis dedup $window --files '*.log' --on-error pass > matches &
has matches '{"t": 1700172800, "k": "172800"}'
has matches oops
stop -TERM
each_once matches
