# SPDX-License-Identifier: BSD-2-Clause
# Where standard output is closed, or open for reading only, the remedy is to open it.
tamis gen words 3 > in
for arguments in --help --version 'help dedup' plan 'gen words 3' 'dedup in' 'dedup --count in' \
    'dedup -o once --duplicates - in'; do
    # shellcheck disable=SC2086
    tamis $arguments >&-
    echo "$arguments: $?"
done
tamis plan 1< in
echo "$?"
tamis dedup -o once in >&-
cmp in once
