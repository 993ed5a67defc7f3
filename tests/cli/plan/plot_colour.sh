# SPDX-License-Identifier: BSD-2-Clause
# On a terminal in colour and as wide as it is; not with NO_COLOR, nor on a dumb one.
command -v script > /dev/null || { cat "${0%.sh}.out"; exit 0; }
run() { script -qec "stty cols 60; $*" /dev/null | tr -d '\r'; }
export TERM=xterm
run tamis plan --plot | grep -c $'\033\[3[0-9]m'
NO_COLOR=1 run tamis plan --plot | grep -c $'\033'
TERM=dumb run tamis plan --plot | grep -c $'\033'
NO_COLOR=1 run tamis plan --plot | awk 'length > widest { widest = length } END { print widest }'
