# SPDX-License-Identifier: BSD-2-Clause
# Present records, absent records, their number, and the exit status alone.
printf '%s\n' a b c > in
tamis build -o f.tamis in
printf '%s\n' b x c b > asked
try() {
    tamis check "$@"
    echo "status $?"
}
try f.tamis asked
try f.tamis -v asked
try f.tamis -c asked
try f.tamis -cv asked
try f.tamis -q asked
try f.tamis -qv asked
try f.tamis -q /dev/null
try f.tamis /dev/null
try f.tamis -c /dev/null
try f.tamis -v in
try f.tamis in - < asked
printf 'a' > cut
try f.tamis cut asked
