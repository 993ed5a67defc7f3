# SPDX-License-Identifier: BSD-2-Clause
# What cannot be made.
try() {
    tamis gen "$@"
    echo "$*: $?"
}
try
try words
try words 1 2
try numbers 5
try words many
try words 1e13
try words 5 --duplicates 1.5
try words 5 --seed x
try words 5 --sed 3
tamis gen words 5 > /dev/full
echo "/dev/full: $?"
