# SPDX-License-Identifier: BSD-2-Clause
# A killed run over a pipe cannot be finished. The next run to its output says so once, and from where to feed
# the pipe again: the same command, another one, and one that reads the other inputs of that run.
tamis gen words 500 --seed 1 > a
tamis gen words 500 --seed 2 > b
tamis gen words 500 --seed 3 > words
mkfifo pipe

# killed INPUT...: a run that is killed when it has committed all of `words`, while its pipe has no end yet.
killed() {
    rm -rf st o
    tamis dedup --commit-every 1B --state st "$@" -o o 2> none 9<> pipe &
    local run=$!
    disown
    cat words > pipe
    until tamis state show --json st 2> none | grep -q "\"file\": *\"[^\"]*pipe\", *\"bytes_read\": *$(wc -c < words)"; do sleep .05; done
    kill -KILL $run
    while kill -0 $run 2> none; do sleep .05; done
}
then_run() { tamis dedup --state st "$@" -o o < /dev/null 2>&1 | sed "s,$PWD/,,; /is not a regular file/d"; }

killed pipe
(echo last > pipe) & then_run pipe
then_run a
killed pipe
then_run a
then_run b
killed a pipe b
then_run a
then_run a b
then_run a b
killed a pipe b
then_run --abandon a
killed pipe a
then_run --reread words a
