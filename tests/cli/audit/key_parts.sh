# SPDX-License-Identifier: BSD-2-Clause
# KEYS is read like the records of build, compressed or not.
{ echo id,email; seq 1000 | sed 's/.*/&,u&@x/'; } > u.csv
tamis build -o f.tamis --key csv:email u.csv
gzip -k u.csv
for keys in u.csv u.csv.gz; do tamis audit --key csv:email f.tamis $keys --queries 1000 --json | grep -o '"keys.*"missing": [0-9]*'; done
tamis audit --key csv:1 --header f.tamis u.csv --queries 1000 --json | grep -o '"keys.*"missing": [0-9]*'
echo '"' >> u.csv
tamis audit --key csv:email f.tamis u.csv --queries 1000
tamis audit --key csv:email --on-error skip f.tamis u.csv --queries 1000 --json | grep -o '"keys.*"missing": [0-9]*'
tamis audit --key csv:email f.tamis
echo "status $?"
# All of several files are read, also those of a list.
printf 'id,email\n1001,w@x\n' > v.csv
echo v.csv > list
tamis audit --key csv:email f.tamis u.csv.gz v.csv --queries 1000 --json | grep -o '"keys.*"missing": [0-9]*'
tamis audit --key csv:email f.tamis u.csv.gz --files-from list --queries 1000 --json | grep -o '"keys.*"missing": [0-9]*'
