# SPDX-License-Identifier: BSD-2-Clause
# With --reread too, a message says that the rest of a rotated log was not read, or that there may have been
# one.
run() { echo "$*" >&2; "$@"; echo "exit $?"; }
begin() { rm -rf st o l*; printf '1\n2\n' > l; tamis dedup --state st l -o o; }
begin; printf '3\n4\n' >> l; mv l l.1; printf '5\n' > l
run tamis dedup --state st --reread l -o o
begin; printf '3\n4\n' >> l; cp l l.1; printf '5\n' > l # copytruncate
run tamis dedup --state st l -o o
run tamis dedup --state st -q --reread l -o o
begin; mv l l.1; printf '5\n' > l # nothing was unread
run tamis dedup --state st --reread l -o o
begin; printf '5\n' > m; mv m l # another inode for certain
run tamis dedup --state st l -o o
begin # the same file is not rotated
run tamis dedup --state st --reread l -o o
run tamis dedup --state st --reread l -o other
