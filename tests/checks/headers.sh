#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# headers.sh INCLUDE_DIR CC CXX: each public header compiles alone, and twice in one file, as C11, C17 and
# C++17.
set -u
include=$1 cc=$2 cxx=$3
status=0 count=0
while IFS= read -r header; do
    count=$((count + 1))
    for form in "$cc -x c -std=c11" "$cc -x c -std=c17" "$cxx -x c++ -std=c++17"; do
        # shellcheck disable=SC2086
        if ! printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
            $form -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$include" -; then
            echo "<$header> does not compile alone with $form"
            status=1
        fi
    done
done < <(cd "$include" && find tamis -name '*.h' | sort)
[ "$count" -gt 0 ] || { echo "no headers in $include"; status=1; }
exit "$status"
