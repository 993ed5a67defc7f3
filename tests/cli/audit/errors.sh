# SPDX-License-Identifier: BSD-2-Clause
# A missing secret, a damaged file, a file that is not a filter, no keys: an error without a result.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
printf '%s' 0123456789abcdef > secret
printf '%s' 0123456789abcdeF > other
tamis gen words 1000 > keys
tamis build -o a.tamis --kind classic --expect 2000 --fpr 1e-3 keys
tamis build -o keyed.tamis --kind classic --expect 2000 --fpr 1e-3 --secret-file secret keys
cp a.tamis hurt.tamis
flip hurt.tamis 5000
try() {
    tamis audit "$@"
    echo "$*: $?"
}
try keyed.tamis keys
try --secret-file other keyed.tamis keys
try --secret-file secret a.tamis keys
try --secret-file nowhere keyed.tamis keys
try --secret-file - keyed.tamis
try hurt.tamis
try nowhere
try keys
try .
try a.tamis nowhere
try a.tamis .
try
try --queries 0 a.tamis
try -z a.tamis
ls -A
