# SPDX-License-Identifier: BSD-2-Clause
# The message about a full filter names it and the remedy: an option if it is made, another filter if it
# exists.
seq 5 > in
tamis dedup --on-full pass --kind classic --expect 3 in
tamis dedup --on-full pass --kind classic --expect 3 --filter f.tamis in
seq 6 | tamis dedup --on-full pass --filter f.tamis
