# SPDX-License-Identifier: BSD-2-Clause
# From a pipe or to one, records may come twice after a crash, and a message says so; no record is lost.
tamis gen words 1000 --seed 7 > a.log
cat a.log | tamis dedup --state seen -o once && cmp once a.log
cat a.log | tamis dedup --state seen -o once --duplicates again -q && cmp again a.log
tamis dedup --state fresh a.log --stats 2> said | cmp - a.log
grep '^run' said
tamis dedup --state third a.log -o /dev/null && tamis state show third | grep run
