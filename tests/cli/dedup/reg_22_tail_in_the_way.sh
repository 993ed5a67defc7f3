# SPDX-License-Identifier: BSD-2-Clause
# If the bytes to be kept cannot be copied to a new file, they are kept anyway, and do not prevent the next
# start.
run() { "$@"; echo "exit $?"; }
seq 1000 > a.log && tail -n 1 a.log >> a.log
go() { run tamis dedup -q --state st a.log -o out --duplicates /dev/full; }
go 2> /dev/null
head -c 3000000 /dev/zero >> out
go 2> /dev/null # copies the bytes, and fails before it has compared them
ls out.*; echo more >> out
(ulimit -f 500; go) 2> said; grep -v 'goes on' said >&2
ls out.* && head -c 3000000 /dev/zero | cmp - <(tail -c 3000000 out.kept-0)
go
