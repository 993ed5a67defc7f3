# SPDX-License-Identifier: BSD-2-Clause
# The curves as text: 80 columns by default, without colour if the output is not a terminal.
tamis plan --plot > plot
cat plot
grep -c $'\033' plot
for columns in 1 50 81 1000 0 wide -7; do
    COLUMNS=$columns tamis plan --plot | awk -v asked=$columns '
        length > widest { widest = length } / $/ { blanks++ }
        END { print asked ": " widest " columns, " NR " lines, " blanks + 0 " with blanks at the end" }'
done
# At t = 1 each curve is in the row of its planned rate.
COLUMNS=81 tamis plan --plot > plot
column=$(grep -m 1 '+---' plot | cut -c 10- | awk '{ print index($0, "+") + 9 }')
for row in '   10 %' '    1 %' '  0.1 %'; do
    grep -m 1 "^$row +" plot | cut -c "$column"
done
