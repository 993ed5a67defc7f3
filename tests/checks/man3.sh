#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# man3.sh DIR: the manual pages of the headers, in DIR, have every public function, under the library that it is in, and
# nothing that is no public function; mandoc finds no fault with them.
set -u
dir=$1
here=$(dirname "$(realpath "$0")")
status=0
complain() {
    echo "man3: $*"
    status=1
}

declare -A public
for list in "$here"/symbols_libtamis*.txt; do
    package=$(basename "$list" .txt)
    package=${package#symbols_lib}
    while read -r symbol; do
        public[$symbol]=1
        page=$dir/$symbol.3
        [ -e "$page" ] || { complain "$symbol has no page: is it declared in include/tamis?"; continue; }
        link=$(sed -n '1s,^\.so man3/,,p' "$page")
        [ -z "$link" ] || page=$dir/$link
        grep -qE "^\.Nm $symbol( ,)?\$" "$page" || complain "$page does not name $symbol"
        grep -qE "^\.Ss (.*, )?$symbol(,|\$)" "$page" || complain "$page has no section of $symbol"
        grep -qx ".Ql pkg-config --cflags --libs $package" "$page" || complain "$page: $symbol is in lib$package"
    done <"$list"
done

pages=()
for page in "$dir"/*.3; do
    if grep -q '^\.so ' "$page"; then
        name=$(basename "$page" .3)
        [ -n "${public[$name]-}" ] || complain "$page: $name is no public function"
    else
        pages+=("$page")
    fi
done
mandoc -Tlint -W warning "${pages[@]}" || complain "mandoc finds fault with the pages"
exit "$status"
