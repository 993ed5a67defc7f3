# SPDX-License-Identifier: BSD-2-Clause
# Outputs are compressed by their names or as --compress says.
seq 10 > in
for program in gzip:gz zstd:zst lz4:lz4 xz:xz bzip2:bz2; do
    command -v ${program%:*} > /dev/null || { echo "skipped: no ${program%:*}" >&2; exit 77; }
    tamis dedup -o "out.${program#*:}" --duplicates "again.${program#*:}" in in
    ${program%:*} -qdc "out.${program#*:}" | cmp - in && ${program%:*} -qdc "again.${program#*:}" | cmp - in
    tamis dedup --compress ${program%:*} in | ${program%:*} -dc | cmp - in
    tamis dedup --compress ${program%:*}:1 in | ${program%:*} -dc | cmp - in && echo "${program%:*}"
done
tamis dedup --compress none -o out.gz in && cmp out.gz in
tamis build -o f.tamis in
tamis add --print seen --compress gzip f.tamis in | gzip -dc | cmp - in
tamis check --compress gzip f.tamis in | gzip -dc | cmp - in
tamis add --compress gzip f.tamis in
tamis dedup --compress zip in
tamis dedup --compress gzip:10 in
tamis dedup --compress gzip: in
tamis dedup --compress zstd:0 in
tamis dedup --compress xz:-1 in
tamis dedup --compress xz:0 in | xz -dc | cmp - in
tamis dedup --compress none:1 in
echo "status $?"
# Compressed output to a terminal is refused; files and plain output are not.
terminal() { script -qec "$1" /dev/null < /dev/null | tr -d '\r'; }
terminal 'tamis dedup --compress zstd in'
terminal 'tamis dedup --compress gzip --duplicates - -o out.gz in'
terminal 'tamis dedup --compress gzip -o /dev/tty in; tamis dedup --compress gzip -o once --duplicates /dev/tty in'
terminal 'ln -s /dev/tty tty.gz; tamis dedup -o tty.gz in; tamis dedup --compress none -o tty.gz in'
terminal 'tamis check --compress gzip f.tamis in; tamis add --print seen --compress gzip f.tamis in'
terminal 'tamis dedup --compress none in | head -n 1; tamis dedup --compress none -q in | tail -n 1'
terminal 'tamis dedup --compress gzip -o out.gz in; tamis check -q --compress gzip f.tamis in; echo "$?"'
