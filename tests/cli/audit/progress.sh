# SPDX-License-Identifier: BSD-2-Clause
# Progress is shown only on a terminal, and cleared at the end.
. "$TAMIS_SOURCE_DIR/tests/cli/help.bash"
needs script
tamis gen words 1000 > keys
tamis build -o a.tamis --kind blocked --expect 1000 --fpr 1e-3 keys
script -qec 'tamis audit --queries 3e5 a.tamis keys > out' /dev/null < /dev/null > terminal
tr '\r' '\n' < terminal | grep -oE '% looked up|keys read' | sort -u
tail -c 1 terminal | od -An -c | tr -d ' '
grep -c . out
