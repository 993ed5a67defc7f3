# SPDX-License-Identifier: BSD-2-Clause
# Standard input is records as other commands have them: packed or not, with a header, of CSV and of JSON.
seq 3000 > in
tamis hash < in > whole
for program in gzip zstd lz4 xz bzip2; do
    command -v $program > /dev/null || { echo "skipped: no $program" >&2; exit 77; }
    $program -qc in | tamis hash | cmp - whole && echo $program
done
tamis hash --header < in | cmp - <(tail -n +2 whole)
tr '\n' '\0' < in | tamis hash -z | cmp - whole
printf 'n,id\r\n1,"a\nb"\r\n2,"c"\r\n' > in.csv
tamis hash --key csv:id < in.csv | cmp - <(tamis hash $'a\nb' c)
tamis hash --key csv:2 --header < in.csv | cmp - <(tamis hash $'a\nb' c)
tamis hash --key csv:id - < in.csv | cmp - <(tamis hash --key csv:2 $'1,"a\nb"' 2,c)
tamis hash --key csv:id - 2,c < in.csv
tamis hash --key csv:no < in.csv
echo "status $?"
echo without key, and malformed
printf '{"id":7}\n{}\n\n{"id"\n{"id":8}\n' > in.jsonl
tamis hash --key json:/id < in.jsonl | cmp - <(tamis hash 7)
tamis hash --key json:/id --missing drop < in.jsonl | cmp - <(tamis hash 7)
tamis hash --key json:/id --missing drop --on-error skip < in.jsonl | cmp - <(tamis hash 7 8)
tamis hash --key json:/id --missing drop --on-error skip --type int32 - '{' '{}' '{"id":9}' < in.jsonl |
    cmp - <(tamis hash --type int32 7 8 9)
tamis hash --key json:/id --on-error skip --missing drop '{"id":' - < in.jsonl | cmp - <(tamis hash 7 8)
tamis hash --key json:/id --on-error skip '{"id":9}' '{' '{}' | cmp - <(tamis hash 9)
tamis hash --key json:/no --missing drop '{"id":9}' '{}'
tamis hash --missing drop a
tamis hash --key json:/id --missing pass a
tamis hash --max-record 3 < in | wc -l
gzip -c in | head -c 500 | tamis hash > part
echo "status $?"
cmp part <(head -n "$(wc -l < part)" whole)
