# SPDX-License-Identifier: BSD-2-Clause
# Names of inputs in a file or on standard input, a line each or ended by zero bytes, behind the operands.
printf 'a\nb\n' > one
printf 'b\nc\n' > 'two words'
printf 'c\nd\n' > $'new\nline'
printf 'one\ntwo words\n' > list
tamis dedup --files-from list
echo operands first; echo z | tamis dedup --files-from list - $'new\nline' | tr '\n' ' '; echo
echo no last newline; printf 'two words\none' | tamis dedup --files-from - | tr '\n' ' '; echo
echo zero bytes; printf 'one\0new\nline\0' | tamis dedup --files-from - | tr '\n' ' '; echo
echo 'records end with zero bytes, names need not'; printf 'a\0b\0a\0' > zero; echo zero | tamis dedup -z --files-from - | tr '\0' ' '; echo
echo each command; tamis build -o f.tamis --files-from list -q; tamis check -c f.tamis --files-from list; tamis add --files-from list f.tamis
tamis dedup --files-from nowhere
tamis dedup --files-from .
tamis dedup --files-from /dev/null
echo empty lines; printf '\none\n\n\none\n\n' | tamis dedup --files-from - | tr '\n' ' '; echo
echo empty names; printf '\0one\0\0' | tamis dedup --files-from - | tr '\n' ' '; echo
printf '\n\n' | tamis dedup --files-from -
echo two lists; echo 'two words' > more; tamis dedup --files-from more --files-from list | tr '\n' ' '; echo
tamis dedup --files-from more --files-from list -o more
printf 'one\n-\n' | tamis dedup --files-from -
echo one | tamis dedup --files-from - -
printf 'one\nnowhere\n' | tamis dedup --files-from -
for program in gzip bzip2 xz; do
    command -v $program > /dev/null || { echo "skipped: no $program" >&2; exit 77; }
    $program -c list > packed
    tamis dedup --files-from packed
done
tamis check f.tamis -k a --files-from list
echo "status $?"
