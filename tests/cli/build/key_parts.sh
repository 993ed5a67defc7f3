# SPDX-License-Identifier: BSD-2-Clause
# Keys from parts, with both ways of counting; records without a key are in no filter.
{ echo id,email; seq 1000 | sed 's/.*/&,u&@x/'; seq 500 | sed 's/.*/&,u&@x/'; echo 7; } > u.csv
tamis build -o twice.tamis --key csv:email u.csv --json 2>&1 | grep -o '^."records[^[]*"malformed": [0-9]*, "bytes_in' | sed "s/^.//; s/, .bytes_in//"
tamis build -o once.tamis --key csv:email --json < <(cat u.csv) 2>&1 | grep -o '^."records[^[]*"malformed": [0-9]*, "bytes_in' | sed "s/^.//; s/, .bytes_in//"
seq -f 'u%g@x' 1000 > list
for filter in twice once; do tamis check -c $filter.tamis list; tamis info --json $filter.tamis | grep -o '"capacity": [0-9]*'; done
tamis build -o n.tamis --key csv:1 --type int64 --header --key line u.csv
tamis build -o n.tamis --key csv:1 --type int64 --header u.csv && tamis check n.tamis -k 0007
tamis build -o f.tamis --key csv:email --missing fail u.csv
ls
