# SPDX-License-Identifier: BSD-2-Clause
# An invalid number, or one out of bounds: one line with option, value and bounds.
try() {
    echo a | tamis dedup "$1" "$2"
    echo "$1 $2: $?"
}
try --expect '0'
try --expect '1e13'
try --expect '99999999999999999999999'
try --expect '-5'
try --expect '12x'
try --expect '1.5'
try --expect ''
try --fpr '0'
try --fpr '0.6'
try --fpr 'nan'
try --fpr '-1e-9'
try --memory '0'
try --memory '16E'
try --memory '1Q'
try --max-record '1 K'
try --seed '18446744073709551616'
try --seed '-1'
