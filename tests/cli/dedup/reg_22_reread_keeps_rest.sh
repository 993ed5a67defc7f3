# SPDX-License-Identifier: BSD-2-Clause
# --reread does not drop the rest of an unfinished run, nor does a message recommend what would drop it.
top=$PWD
refused() { "$@" 2> said; echo "exit $?"; sed "s,$top,TOP,g; s/[0-9][0-9]* bytes/N bytes/g; s/byte [0-9]*/byte N/g; s/: [0-9]* records/: N records/; s/kept-[0-9]*/kept-N/" said; }
command_of() { sed -n 's/.*finish it by: \([^(]*\)\( (.*)\)\?, or give it up with --abandon/\1/p' "$@"; }
fails() { # as a full disk: what it writes may have 800 KiB
    (ulimit -f 800; tamis dedup -q --commit-every 1B "$@" 2> failed; echo "failed $?")
}
tamis gen words 100000 --seed 1 > one.log
tamis gen words 1000 --seed 2 > two.log
tamis dedup one.log two.log > whole
begin() { mkdir "$1" && cd "$1" && cp ../one.log ../two.log . && fails --state st one.log -o out && mkdir old && cp -r st out old; }
echo renamed
begin renamed
mv one.log one.log.1 && cp two.log one.log
refused tamis dedup --state st one.log -o out
refused tamis dedup --state st --reread one.log -o out
cp -r st st.2 && cp out out.2
bash -c "$(command_of said)" 2> /dev/null && refused tamis dedup --state st one.log -o out && cmp out ../whole
echo given up
refused tamis dedup --state st.2 --reread --abandon one.log -o out.2
cd ..
echo copied and truncated
begin truncated
cp one.log one.log.1 && cat two.log > one.log
refused tamis dedup --state st one.log -o out
refused tamis dedup --state st --reread one.log -o out
tamis state show st | sed -n 's/^finish it by //p'
refused tamis dedup -q --state st one.log.1 -o out
refused tamis dedup --state st --reread one.log -o out
sort out | cmp - <(sort ../whole)
echo given up
refused tamis dedup --state old/st --abandon one.log -o old/out
refused tamis dedup --state old/st --abandon --reread one.log -o old/out
cd ..
echo another file of two
mkdir both && cd both && cp ../one.log ../two.log . && fails --state st two.log one.log -o out
mv one.log one.log.1 && echo new > one.log
refused tamis dedup --state st --reread two.log one.log -o out
bash -c "$(command_of said)" 2> /dev/null && sort out | cmp - <(sort ../whole)
refused tamis dedup --state st two.log one.log -o out && tail -n 1 out
cd ..
echo read again # nothing is lost if the file of the name is the one
begin again
echo new > three.log
refused tamis dedup -q --state st --reread one.log three.log -o out && wc -l < out
refused tamis dedup --state old/st one.log -o old/out --duplicates twice # another run to the same output
