# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# A run is killed and repeated: the output is that of an undisturbed run.
tamis gen clicks 1000000 --duplicates 20% --seed 7 > clicks.log
tamis dedup clicks.log > undisturbed.log
{
    tamis dedup --state seen clicks.log -o once.log &
    sleep 0.1; kill -9 $!; wait $!
    tamis dedup --state seen clicks.log -o once.log
} 2> said
tamis state show seen > shown
grep -c '^run ' shown
grep -c 'not finished' shown
cmp once.log undisturbed.log && echo 'the same'
tamis dedup --state seen clicks.log -o once.log
cmp once.log undisturbed.log && echo 'the same'
# New records are read, once.
head -n 3 clicks.log > more && tamis gen words 2 --seed 1 >> more && cat more >> clicks.log
tamis dedup --state seen clicks.log -o once.log
tail -n 2 once.log
# Another file with the same keys, appended to the old output.
cp clicks.log tomorrow.log && sed -i '1d;$s/$/!/' tomorrow.log
tamis dedup --state seen tomorrow.log -o once.log
tail -n 1 once.log
