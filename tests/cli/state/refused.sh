# SPDX-License-Identifier: BSD-2-Clause
refused() { "$@"; echo "exit $?"; }
refused tamis state
refused tamis state list seen
refused tamis state show
refused tamis state show nowhere
mkdir empty && refused tamis state show empty
refused tamis state verify empty
mkdir other.d && touch other.d/file && refused tamis state show other.d
seq 10 > a.log
head -c 20 /dev/zero > secret
tamis dedup --state keyed --secret-file secret a.log -o once
refused tamis state show keyed
tamis state show keyed --secret-file secret | grep keys
head -c 21 /dev/zero > other
refused tamis state verify keyed --secret-file other
# Damage in front of the last commit is found, and never read over.
log=$(ls keyed/log-* | head -n 1)
# Checksums are seeded by chance: the byte may have been an x.
byte=x; [ "$(dd if="$log" bs=1 skip=150 count=1 2> dd | tr '\0' y)" != x ] || byte=y
printf '%s' "$byte" | dd of="$log" bs=1 seek=150 conv=notrunc 2> dd
refused tamis state verify keyed --secret-file secret
refused tamis dedup --state keyed --secret-file secret a.log -o once
