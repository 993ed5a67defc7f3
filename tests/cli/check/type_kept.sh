# SPDX-License-Identifier: BSD-2-Clause
# A .tamis file stores the type of its keys, so that it need not be given again. Another type is an error,
# never a silent "absent". Files of other programs store no type.
seq 100 > in
tamis build -o n.tamis --type int32 in
tamis check -c n.tamis in
tamis check -c n.tamis --type int32 in
tamis check n.tamis -k 007 -k 101
tamis check -c n.tamis --type int64 in
echo "status $?"
tamis check n.tamis --hex -k 07000000
echo 200 | tamis add n.tamis
tamis check n.tamis -k 0200
echo 300 | tamis add --type int64 n.tamis
echo "status $?"
tamis audit --queries 1000 --json n.tamis in | grep -o '"missing": [0-9]*'
printf '%s\n' 007 400 | tamis dedup --filter n.tamis
printf '%s\n' 500 | tamis dedup -q --filter new.tamis --type int64
tamis check new.tamis -k 0500
tamis info n.tamis | grep type
echo "--- kept by copies and unions"
for i in a b; do tamis build -o $i.tamis --kind blocked --expect 1000 --type int64 in; done
tamis build -o c.tamis --kind blocked --expect 1000 in
tamis merge -o ab.tamis a.tamis b.tamis
tamis merge -o abc.tamis a.tamis b.tamis c.tamis
echo "status $?"
tamis copy -o copy.tamis a.tamis
for i in ab copy c; do tamis info --json $i.tamis | grep -o '"key_type": [^,]*'; done
tamis check -c -f ab.tamis -f copy.tamis in
tamis check -c -f ab.tamis -f c.tamis in
echo "status $?"
echo "--- bytes and text are the same, numbers are not"
tamis check -c c.tamis --type utf8 in
tamis check -c c.tamis --type int32 in
echo "status $?"
tamis build -o h.tamis --hex <(echo 07000000)
tamis check -c h.tamis --type int32 -k 7
tamis build -o g.guava --format guava --type int32 in
tamis check -c g.guava in
tamis check -c g.guava --type int32 in
