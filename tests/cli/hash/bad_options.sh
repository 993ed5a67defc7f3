# SPDX-License-Identifier: BSD-2-Clause
# Options that contradict each other or lack another, numbers out of range: refused before a key is read.
head -c 16 /dev/zero > secret
head -c 15 /dev/zero > short
try() {
    tamis hash "$@" < /dev/null
    echo "$*: $?"
}
try --scheme guava a
try --type int16 a
try --bits 100 a
try --probes 3 a
try --scheme fnv-dcso --probes 3 a
try --scheme bkdr31 a
try --scheme bkdr63 --bits 100 a
try --bits 0 --probes 3 a
try --bits 4611686018427387905 --probes 3 a
try --bits 100 --probes 0 a
try --bits 100 --probes 256 a
for scheme in guava64 guava32 bkdr31 bkdr63 redisbloom fnv-dcso; do try --scheme $scheme --seed 1 a; done
try --seed 0 --secret-file secret a
try --seed -1 a
try --hex --type int32 a
try --hex --type int64 a
try --scheme sip a
try --scheme guava64 --secret-file secret a
try --secret-file short a
try --secret-file nowhere a
try --secret-file - a
