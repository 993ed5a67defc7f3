# SPDX-License-Identifier: BSD-2-Clause
# The message about a record that is not a valid key names file and record, and nothing is saved.
# Contradicting options.
printf '1\n2\n3' > one
printf '4\n5 \n6\n' > two
try() {
    tamis build -o f.tamis "$@"
    echo "$*: $?"
}
try --type int64 one two
try --type int64 --expect 10 one two
try --type int64 --expect 10 one - < two
try --type int64 one
try --type int64 two
tamis check -c --type int64 f.tamis -k 1 -k 2 -k 3 -k 4
try --type int32 --hex one
try --type utf16 --hex one
try --type utf8 --hex one
try --type int16 one
try --hex=1 one
ls -A
