# SPDX-License-Identifier: BSD-2-Clause
# --progress where standard error is no terminal: a line a second, none where it is over sooner.
{ echo a; sleep 1.4; echo b; } | tamis dedup --progress
echo c | tamis dedup --progress
