# SPDX-License-Identifier: BSD-2-Clause
# The manual pages have no errors, and say what the tables say.
docs=$(dirname "$(command -v tamis)")/tamis-docs
mkdir man
"$docs" man man
ls man
command -v mandoc > /dev/null || exit 0
mandoc -Tlint -W warning man/*.1
mandoc -Tutf8 man/tamis-dedup.1 | sed 's,.\x08,,g' | grep -cE '^ {5}(-[a-z], )?--[a-z-]+'
# Every field of --json is in the manual, and no other.
plain() { mandoc -Tutf8 "man/tamis-$1.1" | sed 's,.\x08,,g' | sed -n "/^$2/,/^[A-Z]/p"; }
fields() { grep -oE '"[a-z_]+":' | tr -d '":' | sort -u; }
documented() { plain "$1" JSON | grep -oE '^ {5}[a-z_]+( |$)' | tr -d ' ' | sort -u; }
tamis gen words 5 | tamis dedup --json 2>&1 > /dev/null | fields | diff - <(documented dedup)
tamis plan --json | fields > fields
tamis plan --expect 1e6 --json | fields | sort -u - fields | diff - <(documented plan)
plain dedup FILES | grep -oE 'NAME.tamis-PID-RANDOM|SIGKILL and SIGQUIT'
plain dedup NOTES | tr -s ' \n' ' ' | grep -oE 'hard links are not kept|larger than about 5e-8|aim records at the filter'
for page in man/*.1; do mandoc -Tutf8 "$page" | sed 's,.\x08,,g' | grep -cE '^ {5}141 '; done
