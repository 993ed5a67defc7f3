# SPDX-License-Identifier: BSD-2-Clause
# With -q, as with grep -q of POSIX, a record that is found decides even if another input has an error.
run() { "$@"; echo "exit $?"; }
seq 9 > k; echo none > other; seq 9 | gzip | head -c 12 > cut.gz
tamis build -o f.tamis k
for inputs in 'k nosuch' 'nosuch k' 'other nosuch' 'nosuch other' 'cut.gz k' 'cut.gz other' '. k' k other nosuch; do
    echo "$inputs"
    run tamis check -q f.tamis $inputs
done
echo inverted
run tamis check -qv f.tamis k nosuch
run tamis check -qv f.tamis nosuch other
echo pipes
run tamis check -q f.tamis nosuch - < k
run tamis check -q f.tamis nosuch <(cat k)
echo as grep
grep -q 5 k nosuch; echo "exit $?"
grep -q 5 nosuch other 2> /dev/null; echo "exit $?"
echo printed
run tamis check f.tamis k nosuch
run tamis check -q --stats f.tamis nosuch k 2>&1 | grep -v '^bytes\|^seconds\|^rate'
echo what helps
printf '{"id":5}\n' > yes.json; printf '{"id"\n' > no.json
run tamis check -q --key json:/id f.tamis no.json yes.json
