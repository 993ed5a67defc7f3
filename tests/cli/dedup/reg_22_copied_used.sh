# SPDX-License-Identifier: BSD-2-Clause
# A copy of a state and its outputs knows the runs before the copy, also after it has made runs of its own.
run() { "$@"; echo "exit $?"; }
tamis gen words 20000 --seed 1 > one.log
tamis gen words 1000 --seed 2 > two.log
tamis gen words 1000 --seed 3 > three.log
mkdir p && cp *.log p && cd p && tamis dedup --state st one.log -o out --duplicates again
cp -r ../p ../q && cd ../q
run tamis dedup --state st two.log -o out --duplicates again
run tamis dedup --state st one.log -o out --duplicates again
cp -r ../q ../r && cd ../r # the copy of a copy
run tamis dedup --state st three.log -o out --duplicates again
for log in one two three; do run tamis dedup --state st $log.log -o out --duplicates again; done
echo new >> one.log
run tamis dedup --state st one.log -o out --duplicates again
cat one.log two.log three.log > all && tamis dedup all | sort | cmp - <(sort out)
run tamis dedup --state st one.log -o other 2>&1 | sed "s,$PWD/,,"
# The original has not changed.
cd ../p && run tamis dedup --state st one.log -o out --duplicates again
