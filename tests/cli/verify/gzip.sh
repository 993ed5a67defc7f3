# SPDX-License-Identifier: BSD-2-Clause
# gzip has a checksum of its content, so a changed bit is found in files of other programs too.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
dcso_file a.bloom
guava_file b.guava
gzip -n a.bloom b.guava
tamis verify a.bloom.gz b.guava.gz
tamis verify --json a.bloom.gz
size=$(stat -c %s a.bloom.gz)
for offset in 15 30 $((size - 8)) $((size - 1)); do
    cp a.bloom.gz flipped
    flip flipped "$offset"
    tamis verify -q flipped
    echo "$offset $?"
done
flip a.bloom.gz $((size - 8))
# The position of the error depends on the decompression library.
{
    tamis verify a.bloom.gz
    tamis verify --json a.bloom.gz
    echo $?
} | sed -E "s/before byte ($((size - 4))|$size) /before byte N /"
