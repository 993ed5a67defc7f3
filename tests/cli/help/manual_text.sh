# SPDX-License-Identifier: BSD-2-Clause
# tamis-embed refuses a malformed text of a manual with its file and line, and leaves no output then. docs/man
# has a text for each command and no other, and each shared text is used.
. "$TAMIS_SOURCE_DIR/tests/cli/help.bash"
embed=$(dirname "$(command -v tamis)")/tamis-embed

mkdir shared
printf 'Shared \\ "text".\n' > shared/note.txt
printf '# NOTES\n' > shared/heading.txt
good='# DESCRIPTION\n\nFirst\nparagraph.\n\n@shared note\n\n# EXIT STATUS\n0\n    Done.\n\n# EXAMPLES\n\ntamis help\n    The list.\n'

printf "$good" > good.txt
"$embed" out.c good.txt && cat out.c

# refuses TEXT: the text, with printf's escapes, in the file bad.txt.
refuses() {
    printf "$1" > bad.txt
    "$embed" out.c bad.txt 2>&1 && echo "accepted: $1"
    [ ! -e out.c ] || echo "an output is left: $1"
}
refuses 'Text.\n'
refuses '# SYNOPSIS\n'
refuses '#DESCRIPTION\n'
refuses '# DESCRIPTION\nText.\n# DESCRIPTION\nText.\n'
refuses '# DESCRIPTION\n\n# EXIT STATUS\n'
refuses '# DESCRIPTION\n    Indented.\n'
refuses '# EXIT STATUS\n0\n1\n    Name without a description above.\n'
refuses '# EXIT STATUS\n0\n\n    After a blank line.\n'
refuses '# EXIT STATUS\n0\n  Two blanks.\n'
refuses '# EXIT STATUS\n0\n      Six blanks.\n'
refuses '# EXIT STATUS\n0\n'
refuses '# DESCRIPTION\nA blank at the end. \n'
refuses '# DESCRIPTION\nA\ttab.\n'
refuses '# DESCRIPTION\nNo \303\251 in ASCII.\n'
refuses '# DESCRIPTION\nA zero\0byte.\n'
refuses '@shared note\n'
refuses '# DESCRIPTION\n@shared none\n'
refuses '# DESCRIPTION\n@shared ../bad\n'
refuses '# DESCRIPTION\n\n@shared heading\n'
refuses '# DESCRIPTION\nText.\n'
"$embed" out.c none.txt 2>&1
"$embed" out.c 2>&1
"$embed" none/out.c good.txt 2>&1

cd "$TAMIS_SOURCE_DIR/docs/man"
{ echo tamis.txt; verbs | sed 's/$/.txt/'; } | sort | diff - <(printf '%s\n' *.txt)
for text in shared/*.txt; do
    name=${text#*/}
    grep -qx "@shared ${name%.txt}" *.txt || echo "$text: is not used"
done
