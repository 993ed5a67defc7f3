# SPDX-License-Identifier: BSD-2-Clause
# Bytes behind the last commit of an output are kept if the run does not write them there again.
run() { "$@"; echo "exit $?"; }
tamis gen words 100000 --seed 1 > a.log
tamis gen words 1000 --seed 2 > b.log
tamis dedup a.log > whole
fails() { (ulimit -f "$1"; shift; tamis dedup -q --commit-every 1B "$@" 2> failed; echo "failed $?"); }
fails 800 --state st a.log -o out
cp -r st st.0 && cp out out.0
begin() { rm -rf st out.tail-* out.kept-*; cp -r st.0 st; cp out.0 out; }
names() { ls out.* | sed 's/-[0-9]*$/-N/' | grep -v 'out.0'; }
# Somebody appends a line.
echo 'by hand' >> out
run tamis dedup --state st a.log -o out && cmp out whole
names; cat out.kept-*
# The bytes of the killed process are written again, and nothing is kept.
begin; head -c $(($(stat -c %s out) + 9999)) whole > out
run tamis dedup --state st a.log -o out && cmp out whole
names
# If a process ends before it has compared all bytes, the next one compares the rest.
begin; head -c $(($(stat -c %s out) + 250000)) whole > out; echo 'by hand' >> out
fails 600 --state st a.log -o out
names
run tamis dedup --state st a.log -o out && cmp out whole
names; tail -n 1 out.kept-*
begin; head -c $(($(stat -c %s out) + 250000)) whole > out
fails 600 --state st a.log -o out
names
run tamis dedup --state st a.log -o out && cmp out whole
names
# A run that is given up does not write the bytes again.
begin; echo 'by hand' >> out
run tamis dedup --state st --abandon b.log -o out
names; tail -n 1 out.kept-*
# Compressed bytes cannot be compared, and are all kept.
fails 600 --state gz a.log -o out.gz
echo 'by hand' >> out.gz && cp out.gz was.gz
run tamis dedup --state gz a.log -o out.gz && gzip -dc out.gz | cmp - whole
kept=$(echo out.gz.kept-*) && tail -c +$((${kept##*-} + 1)) was.gz | cmp - "$kept" && tail -n 1 "$kept" | grep -ao 'by hand'
