# SPDX-License-Identifier: BSD-2-Clause
# --progress if standard error is not a terminal: one line per second, none if the run is shorter.
{ echo a; until grep -qs '0:0' err; do sleep 0.02; done; echo b; } | tamis dedup --progress 2> err
head -n 1 err >&2 # a slow run has further lines
echo c | tamis dedup --progress
