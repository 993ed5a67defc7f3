#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# man3.sh DIR: the manual pages of the headers, in DIR, have every public function, under the library that it
# is in, and nothing that is not a public function; mandoc finds no fault with them.
set -u
here=$(dirname "$(realpath "$0")")
cd "$1" || exit 2
status=0

awk '
    function complain(text) { print "man3: " text; failed = 1 }
    FNR == 1 { file = FILENAME; sub(/.*\//, "", file) }
    FILENAME ~ /symbols_lib[a-z-]*\.txt$/ { sub(/^symbols_lib/, "", file); sub(/\.txt$/, "", file); library[$1] = file; next }
    { sub(/\.3$/, "", file) }
    /^\.so man3\// { leads[file] = substr($2, 6); sub(/\.3$/, "", leads[file]) }
    /^\.Ql pkg-config / { package[file] = $NF }
    /^\.Nm / { named[file, $2] = 1 }
    /^\.Ss / { gsub(/,/, ""); for (i = 2; i <= NF; i++) section[file, $i] = 1 }
    { there[file] = 1 }
    END {
        for (symbol in library) {
            page = symbol in leads ? leads[symbol] : symbol
            if (!(page in there))
                complain(symbol " has no page: is it declared in include/tamis?")
            else if (!((page, symbol) in named) || !((page, symbol) in section))
                complain(page ".3 does not name " symbol ", or has no section of it")
            else if (package[page] != library[symbol])
                complain(page ".3 is of " package[page] ", but " symbol " is in lib" library[symbol])
        }
        for (link in leads)
            if (!(link in library))
                complain(link ".3: is not a public function")
        exit failed
    }' "$here"/symbols_lib*.txt ./*.3 || status=1

mapfile -t pages < <(grep -L '^\.so ' -- *.3)
mandoc -Tlint -W warning "${pages[@]}" || { echo "man3: mandoc finds fault with the pages"; status=1; }
exit "$status"
