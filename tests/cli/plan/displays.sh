# SPDX-License-Identifier: BSD-2-Clause
# Options that cannot be combined are refused, with the reason.
try() {
    tamis plan "$@"
    echo "status $?"
}
try --table --plot
try --table --measure
try --plot --measure
try --table --expect 1e6
try --table --fpr 1%
try --table --memory 1G
try --plot --kind exact
try --plot --scheme sip
try --plot --json
try -o curve.svg
try --table -o curve.svg
try --measure -o curve.svg
try --table 7
try --measure --expect 1e9 --memory 1MiB
try --measure --kind classic
ls -A
