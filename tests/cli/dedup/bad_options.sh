# SPDX-License-Identifier: BSD-2-Clause
# Unknown, incomplete, repeated and contradictory options: refused before anything is read.
try() {
    echo a | tamis dedup "$@"
    echo "$*: $?"
}
try --count -o x
try --duplicates -
try -o - --duplicates -
try --count --duplicates -
try --exact --kind blocked
try --exact --kind auto
try --kind classic
try --kind blocked
try --kind round
try --scheme md5
try --on-full burst
try --scheme sip
try --scheme xxh3 --secret-file x
try --seed 1 --scheme guava64
try --seed 0 --scheme redisbloom
try --scheme bkdr63
try --scheme fnv-dcso --kind classic --expect 1e12
try --seed 1 --secret-file x
try --progress --no-progress
try --progress -q
try --expect
try -o
try --count=5
try --exepct 5
try -x
try --ex
try --s
ls -A
