# SPDX-License-Identifier: BSD-2-Clause
# A state and its outputs that were copied elsewhere are recognised by their content.
run() { "$@"; echo "exit $?"; }
tamis gen words 20000 --seed 1 > a.log
tamis gen words 1000 --seed 2 > b.log
tamis dedup a.log b.log --duplicates again.whole > whole
tamis dedup --state st a.log -o out --duplicates again
mkdir copy && cp -r st out again a.log b.log copy
(cd copy && run tamis dedup --state st a.log -o out --duplicates again)
(cd copy && run tamis dedup --state st b.log -o out --duplicates again)
cmp copy/out whole && cmp copy/again again.whole
mkdir more && cp -r copy/* more # the copy of a copy, which knows two runs
(cd more && run tamis dedup --state st a.log -o out --duplicates again)
# The original is unchanged.
run tamis dedup --state st b.log -o out --duplicates again && cmp out whole
# Another file is not taken for a copy, and no message says to delete it.
cd copy && echo more > c.log && head -c 5000 out > short && echo mine > mine
run tamis dedup --state st c.log -o short
run tamis dedup --state st c.log -o mine; cat mine
