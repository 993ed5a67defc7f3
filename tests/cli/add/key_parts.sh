# SPDX-License-Identifier: BSD-2-Clause
# Keys from parts; records are printed whole.
printf 'a,1\nb,2\n' > one.csv
printf 'c,2\nd,3\ne\n' > two.csv
tamis build -o f.tamis --expect 100 --key csv:2 one.csv
tamis add --print fresh --key csv:2 f.tamis two.csv
tamis add --print seen --key csv:2 --missing drop f.tamis two.csv
tamis check f.tamis -k 3
tamis add --key csv:2 --missing fail f.tamis two.csv
printf '"a" b\n' | tamis add --key csv:1 --on-error skip f.tamis
printf '"a" b\n' | tamis add --key csv:1 f.tamis
