# SPDX-License-Identifier: BSD-2-Clause
# Messages about records that are given up, kept or not read are printed with -q and --json too; others are
# not.
tamis gen words 100000 --seed 1 > a.log
echo new > b.log
(ulimit -f 800; tamis dedup -q --commit-every 1B --state st a.log -o out 2> failed; echo "failed $?")
echo 'by hand' >> out
cp -r st st.2; cp out out.2
tamis dedup -q --state st --abandon b.log -o out
tamis dedup --json --state st.2 --abandon b.log -o out.2 2> said; grep -v '^{' said >&2; grep -c '^{' said
# A log that was rotated away; files that are skipped.
mkdir logs && seq 2000 > logs/app.log
tamis dedup -q --state rot logs/app.log -o rot.out
echo more >> logs/app.log && mv logs/app.log logs/app.log.1 && seq 3000 5000 > logs/app.log
cp -r rot rot.2; cp rot.out rot.out.2
tamis dedup -q --state rot logs/app.log -o rot.out
tamis dedup --json --state rot.2 logs/app.log -o rot.out.2 2> said; grep -v '^{' said >&2
echo last > c.log
tamis dedup -q --state rot logs/app.log c.log -o rot.out
