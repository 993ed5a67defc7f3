# SPDX-License-Identifier: BSD-2-Clause
# A state keeps of each ended run the file that was rotated, not all files that are followed.
. "$TAMIS_SOURCE_DIR/tests/support/follow.bash"
mkdir log
for name in a b c; do echo "$name" > log/$name.log; done
tamis dedup --state seen --follow-input --files 'log/*.log' -o once &
has once c
for number in 1 2 3; do
    mv log/b.log log/b.log.$number
    echo "b$number" > log/b.log
    has once "b$number"
done
stop -TERM
tamis state show seen | sed -n 's/^run \(.*\) to .*/\1/p' | tr -s ' '
echo 'a rotated file is known'
tamis dedup --state seen log/b.log.2 -o once
sort once | tr '\n' ' '
