# SPDX-License-Identifier: BSD-2-Clause
# What cannot be read twice grows; kinds that cannot need --expect.
tamis gen words 5000 > words
cat words | tamis build -o a.tamis && tamis check -c a.tamis words
cat words | tamis build -o b.tamis --kind classic
echo "status $?"
cat words | tamis build -o b.tamis --scheme bkdr31
echo "status $?"
cat words | tamis build -o b.tamis --kind classic --expect 5000 && tamis check -c b.tamis words
mkfifo fifo
cat words > fifo &
tamis build -o c.tamis words fifo && tamis check -c c.tamis words
tamis build -o d.tamis --exact < /dev/null && tamis check d.tamis words
echo "status $?"
