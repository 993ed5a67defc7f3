# SPDX-License-Identifier: BSD-2-Clause
# A run with positions is killed before its first commit of records. The next run says that the consumer goes
# on after its last acknowledged position. A run without positions says from where to feed the pipe again.
mkfifo pipe
killed() {
    tamis dedup --state st -o once "$@" < pipe 2> none &
    local run=$!
    disown
    exec 3> pipe
    until tamis state show --json st 2> none | grep -q '"number": 1'; do sleep .05; done
    kill -KILL $run
    while kill -0 $run 2> none; do sleep .05; done
    exec 3>&-
}
then_run() { printf '%s\n' 'c0 1 a' 'c0 2 a' | tamis dedup --state st -o once "$@" 2>&1 | sed "s,$PWD/,,; /is not a regular file/d"; }

positions=(--source field:1 --position field:2 --key field:3 --delimiter space)
killed "${positions[@]}"
then_run "${positions[@]}"
then_run "${positions[@]}"
cat once
echo 'without positions'
rm -r st once
killed
then_run
cat once
