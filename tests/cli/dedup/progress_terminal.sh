# SPDX-License-Identifier: BSD-2-Clause
# On a terminal: one line, written over and cleared at the end; none with -q or --no-progress.
slow="{ echo a; sleep 0.8; echo a; }"
slower="{ echo a; sleep 2; echo a; }"
shown() { script -qec "$1" /dev/null < /dev/null | tr '\r' '\n' | grep -c '% unique'; }
[ "$(shown "$slower | tamis dedup > out")" -ge 2 ] && echo shown
script -qec "$slow | tamis dedup > out" /dev/null < /dev/null | tr '\r' '\n' | tail -n 1 | tr -d ' \n' | wc -c
shown "$slow | tamis dedup -q > out"
shown "$slow | tamis dedup --no-progress > out"
shown "$slow | tamis dedup"
