# SPDX-License-Identifier: BSD-2-Clause
# A full filter is named, with what helps: an option where it is made, another filter where it is there.
seq 5 > in
tamis dedup --on-full pass --kind classic --expect 3 in
tamis dedup --on-full pass --kind classic --expect 3 --filter f.tamis in
seq 6 | tamis dedup --on-full pass --filter f.tamis
