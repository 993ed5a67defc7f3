# SPDX-License-Identifier: BSD-2-Clause
# A run over a file and a pipe that was killed before it committed anything is given again: the file is the
# one that it was reading, and is read.
tamis gen words 100 --seed 1 > a.log
mkfifo pipe
tamis dedup --state st --commit-every 1h a.log pipe -o o 2> killed 9<> pipe &
run=$!
disown
until [ -s o ]; do sleep .05; done
kill -KILL $run
while kill -0 $run 2> none; do sleep .05; done
echo last > pipe &
tamis dedup --state st a.log pipe -o o
echo "status $?"
{ sort -u a.log | wc -l; wc -l < o; tail -n 1 o; } | tr '\n' ' '
