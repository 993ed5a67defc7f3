# SPDX-License-Identifier: BSD-2-Clause
# Kind cuckoo with scheme redisbloom is RedisBloom's own cuckoo filter: a DUMP that RESTORE takes, looked up and described
# like the dump of a key. What that filter lacks is refused.
try() { "$@"; echo "status $?"; }
seq 2000 > in
options='--kind cuckoo --scheme redisbloom'
tamis build $options -o f.dump --expect 2000 in
tamis build $options -o counted.dump in && cmp f.dump counted.dump
tamis build $options -o piped.dump --expect 2000 < <(cat in) && cmp f.dump piped.dump
head -c 9 f.dump | od -An -tx1 # a value of a module: MBbloomCF, encoding version 4
tamis check -c f.dump in && tamis verify f.dump
seq 2001 20000 | tamis check -c f.dump | awk '{ print $1 < 18000 / 255 * 5 }'
tamis info f.dump | grep -v created
tamis copy -o copy.dump f.dump && cmp copy.dump f.dump
try tamis remove f.dump in
try tamis copy -o f.tamis --format tamis f.dump
try tamis build $options -o f.dump < <(cat in)
try tamis build $options -o f.dump --fpr 1e-6 in
try tamis build $options -o f.dump --memory 1M in
try tamis build $options -o f.dump --seed 1 in
try tamis build $options -o f.dump --label a=b in
try tamis build $options -o f.tamis --format tamis in
try tamis build $options -o f.dump --frozen in
try tamis build $options -o f.dump --expect 1e10 in
try tamis build $options -o redis://127.0.0.1:1/f in
tamis build $options -o zipped.dump --gzip in && tamis check -c zipped.dump in
ls -A
tamis plan $options --expect 1e6 | grep -E 'rate  |cuckoo'
