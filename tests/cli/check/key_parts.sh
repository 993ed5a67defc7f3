# SPDX-License-Identifier: BSD-2-Clause
# Records are looked up by a part of them; keys on the command line are used whole.
printf '1\nB\n' > list
tamis build -o f.tamis --ignore-case list
printf '{"id":1,"n":"x"}\n{"id":"b","n":"y"}\n{"n":"z"}\n{\n' > in
tamis check f.tamis --key json:/id --ignore-case --on-error skip in
echo inverted; tamis check -v f.tamis --key json:/id --on-error pass -q in; echo "status $?"
tamis check -v f.tamis --key json:/n --on-error pass in
echo counts
tamis check -c f.tamis --key json:/id --on-error skip in
for action in pass drop; do tamis check -vc f.tamis --key json:/id --ignore-case --on-error skip --missing $action in; done
echo keys
tamis check f.tamis --key json:/id -k '{"id":1}' -k 1 -k ' b' -k B
tamis check f.tamis --key json:/id --ignore-case --trim -k ' 1' -k ' b ' -k B
echo followed
printf 'id,x\n1,a\n2,a\n' > log.csv
tamis check --follow f.tamis --key csv:id log.csv > out & pid=$!
until [ -s out ] && grep -q 1 out; do sleep 0.02; done
printf '3,"a\nb"\n1,"c\nd"\n' >> log.csv
until grep -qs '^d' out; do sleep 0.02; done
kill -TERM $pid
wait $pid
echo "status $?"
cat out
