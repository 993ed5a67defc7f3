# SPDX-License-Identifier: BSD-2-Clause
# gzip has a checksum of all that is in it, so a changed bit is seen in files of others too.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
dcso_file a.bloom
guava_file b.guava
gzip -n a.bloom b.guava
tamis verify a.bloom.gz b.guava.gz
tamis verify --json a.bloom.gz
size=$(stat -c %s a.bloom.gz)
for at in 15 30 $((size - 8)) $((size - 1)); do
    cp a.bloom.gz flipped
    flip flipped "$at"
    tamis verify -q flipped
    echo "$at $?"
done
flip a.bloom.gz $((size - 8))
# How much of the end was taken by then is the library's business.
{
    tamis verify a.bloom.gz
    tamis verify --json a.bloom.gz
    echo $?
} | sed -E "s/before byte ($((size - 4))|$size) /before byte N /"
