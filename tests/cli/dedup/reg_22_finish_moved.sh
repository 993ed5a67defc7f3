# SPDX-License-Identifier: BSD-2-Clause
# The command that finishes a run has the current names if its state and outputs were copied, moved or
# renamed.
top=$PWD
shown() { sed "s|$top|TOP|g"; }
command_of() { sed -n 's/.*finish it by: \(.*\), or give it up with --abandon/\1/p' "$@"; }
fails() { # as a full disk: what it writes may have 800 KiB
    (ulimit -f 800; tamis dedup -q --commit-every 1B "$@" 2> "$top/failed"; echo "failed $?")
}
finish() { # STATE OUTPUT: a command that is refused, the one that it names, and then itself
    tamis dedup -q --state "$1" "$top/b.log" -o "$2" 2> "$top/refused"
    echo "exit $?"
    command_of "$top/refused" | shown
    bash -c "$(command_of "$top/refused")" 2> "$top/finished" || cat "$top/finished"
    tamis dedup -q --state "$1" "$top/b.log" -o "$2" && cmp "$2" "$top/whole"
}
tamis gen words 100000 --seed 1 > a.log
tamis gen words 1000 --seed 2 > b.log
tamis dedup a.log b.log > whole
echo together
mkdir first && cp a.log first
(cd first && fails --state st a.log -o ./out)
cp -r first copy && cp -r first more
tamis state show copy/st | grep '^finish' | shown
(cd copy && finish st out)
mv first 'sec ond'
finish 'sec ond/st' 'sec ond/out'
echo others
cd more && cp -r st st.2 && cp out out.2
finish st.2 out.2
cd .. && mkdir far && mv more/st far/seen && mv more/out far/once
tamis state show far/seen | grep '^finish' | shown
finish far/seen far/once
echo absolute
mkdir abs && fails --state "$top/abs/st" --key 'regex:^(.*)$' "$top/a.log" --duplicates "$top/abs/again" -o "$top/abs/out"
mv abs moved
tamis state show moved/st | grep '^finish' | shown
tamis dedup -q --state moved/st --key 'regex:^(.*)$' b.log --duplicates moved/again -o other 2>&1 | command_of | shown
tamis dedup -q --state moved/st --key 'regex:^(.*)$' b.log --duplicates moved/again -o moved/out 2>&1 | command_of | shown
echo absent
fails --state st.3 a.log -o out.3
mv a.log a.old
tamis dedup -q --state st.3 b.log -o out.3 2>&1 | command_of | shown
tamis dedup -q --state st.3 a.old b.log -o new 2>&1 | sed -n 's/.*finish it by: \(.*\), or add --reread.*/\1/p' | shown
