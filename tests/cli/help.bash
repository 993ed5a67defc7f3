# SPDX-License-Identifier: BSD-2-Clause
# What the help says there is, so that a test need not list it: source
# "$TAMIS_SOURCE_DIR/tests/cli/help.bash".

# The commands, one a line.
verbs() { tamis --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'; }

# options VERB: its options, short and long, one a line, sorted, each followed by what is said of it.
options() {
    tamis "$1" --help | awk '
        /^[A-Z]/ { on = /^Options:/; next }
        on && /^(  -.,|     ) --/ {
            row++
            letter[row] = $1 ~ /^-.,$/ ? substr($1, 1, 2) : ""
            long[row] = letter[row] ? $2 : $1
            sub(/\[=.*/, "", long[row]) # a value that may be left out
            if (length($0) <= 27 || substr($0, 27, 1) != " ") next # its text begins on the next line
        }
        on && NF { text[row] = text[row] (text[row] ? " " : "") substr($0, 28) }
        END {
            for (i = 1; i <= row; i++) {
                sub(/ \(default: [^)]*\)$/, "", text[i])
                if (letter[i]) print letter[i], text[i]
                print long[i], text[i]
            }
        }' | sort
}

# examples VERB: the lines to type, one a line.
examples() { tamis "$1" --help | sed -n '/^Examples:/,$s/^  \$ //p'; }

# needs COMMAND: without it the case is skipped, which ctest says by its name.
needs() {
    command -v "$1" > /dev/null && return
    echo "skipped: no $1 here" >&2
    exit 77
}

# lines_to_complete: what a shell is asked to complete, in a directory with the files clicks.log and --odd.
lines_to_complete() {
    sed 's/|$//' << 'END'
tamis |
tamis de
tamis --
tamis dedup --se
tamis dedup --kind |
tamis dedup --kind=b
tamis dedup --kind exact --ki
tamis dedup --exact --f
tamis dedup -zq --no
tamis dedup -zo x --ou
tamis dedup --expect |
tamis dedup cl
tamis dedup -o cl
tamis dedup -- --
tamis dedup -- cl
tamis gen |
tamis gen words --s
tamis gen --seed 7 u
tamis help p
END
}

# differing_offers: how the options that `try` offers, and what it says of them, differ from those of the
# help. `try` answers the lines of its standard input, an offer a line.
differing_offers() {
    local verb
    for verb in $(verbs); do
        echo "tamis $verb -" | try | grep '^-' | tr '\t' ' ' | sort | diff <(options "$verb") -
    done
}

# make_manual: writes the manual pages to man/.
make_manual() { mkdir man && "$(dirname "$(command -v tamis)")/tamis-docs" man man; }

# text VERB: its manual page; section VERB REGEX: the section whose heading matches.
text() { mandoc -Tutf8 "man/tamis-$1.1" | sed 's,.\x08,,g'; }
section() { text "$1" | sed -n "/^$2/,/^[A-Z]/p"; }

# members: the names of all members in JSON objects; documented VERB: those in its manual.
members() { grep -oE '"[a-z_]+":' | tr -d '":' | sort -u; }
documented() { section "$1" JSON | grep -oE '^ {5}[a-z_]+: ' | tr -d ' :' | sort -u; }
