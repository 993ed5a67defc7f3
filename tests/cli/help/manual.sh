# SPDX-License-Identifier: BSD-2-Clause
# The manual pages have no errors, and say what the tables say.
docs=$(dirname "$(command -v tamis)")/tamis-docs
mkdir man
"$docs" man man
ls man
command -v mandoc > /dev/null || exit 0
mandoc -Tlint -W warning man/*.1
mandoc -Tutf8 man/tamis-dedup.1 | sed 's,.\x08,,g' | grep -cE '^ {5}(-[a-z], )?--[a-z-]+'
