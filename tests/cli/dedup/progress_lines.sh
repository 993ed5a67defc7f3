# SPDX-License-Identifier: BSD-2-Clause
# --progress if standard error is not a terminal: one line per second, none if the run is shorter.
{ echo a; sleep 1.4; echo b; } | tamis dedup --progress
echo c | tamis dedup --progress
