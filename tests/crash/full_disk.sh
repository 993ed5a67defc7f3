#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The disk of the state or of the output is full, in each phase of dedup --state. The command must fail with a
# clear error. With more space, the same command must give the outputs of an undisturbed run. Uses tmpfs of
# several sizes, in a mount namespace.
set -u
if [ -z "${inside-}" ]; then
    inside=1 unshare -m true 2>/dev/null || { echo "skipped: no mount namespace to be had"; exit 77; }
    inside=1 exec unshare -m bash "$0"
fi
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
PATH=$TAMIS_BUILD_DIR/bin:$PATH
cd "$work" || exit 2
mkdir disk
tamis gen words 60000 --seed 5 > a.log
tamis dedup a.log -o once -q --duplicates again || exit 1
size=$(stat -c %s once)
failures=0
# Sizes from one that holds nothing to one that holds everything: each key takes 16 bytes of log.
for kib in 4 16 64 100 200 300 400 500 600 800 1000 1200 1400 1600; do
    for target in both state output; do
        mount -t tmpfs -o "size=${kib}k" none disk || { echo "skipped: no tmpfs to be had"; exit 77; }
        state=disk/state out=disk/out
        [ $target != output ] || state=state
        [ $target != state ] || out=out
        status=0
        tamis dedup --state $state a.log -o $out --duplicates again.2 --commit-every 64KiB -q 2> said || status=$?
        if [ $status != 0 ]; then
            failures=$((failures + 1))
            [ $status = 2 ] && grep -q "no space left on device; free space there, and give the same command again" said || { echo "$kib KiB, $target: exit $status"; cat said; exit 1; }
            [ "$(wc -l < said)" = 1 ] || { echo "$kib KiB, $target: more than one line"; cat said; exit 1; }
            mount -o remount,size=64M disk
            tamis dedup --state $state a.log -o $out --duplicates again.2 -q || { echo "$kib KiB, $target: not with more room"; exit 1; }
        fi
        cmp $out once && cmp again.2 again || { echo "$kib KiB, $target: differs"; exit 1; }
        umount disk
        rm -rf state out again.2
    done
done
[ $failures -ge 10 ] || { echo "only $failures disks were full, of $size bytes of output"; exit 1; }
echo "$failures full disks"
