# SPDX-License-Identifier: BSD-2-Clause
# The unread rest of a compressed input begins at a byte of its decompressed data, and the message says so.
tamis gen words 100000 --seed 1 > one.log && gzip -k one.log && echo new > two.log
(ulimit -f 800; tamis dedup -q --commit-every 1B --state st one.log.gz -o out 2> failed; echo "failed $?")
tamis dedup --state st two.log -o out 2> said
sed 's/not read: [^ ]* from byte [0-9]*/not read: one.log.gz from byte N/; s/^tamis: .*out:/tamis: out:/' said
# That many decompressed bytes begin with the records of the output.
offset=$(sed -n 's/.*from byte \([0-9]*\) .*/\1/p' said)
[ "$offset" -lt "$(wc -c < one.log)" ] && head -c "$offset" one.log | tamis dedup | cmp - <(head -c "$(head -c "$offset" one.log | tamis dedup | wc -c)" out) && echo decompressed
tamis dedup --state st --abandon two.log -o out 2>&1 | sed -n 's/byte [0-9]*/byte N/; s/: [0-9]* records/: N records/; /gave up/p'
