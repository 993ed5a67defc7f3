# SPDX-License-Identifier: BSD-2-Clause
# Each record is written before the next one is sent. A delay of a second would mean that it waits for more.
# ctest: serial
coproc tamis dedup
for i in 1 2 3 4 5 6 7 8 9 10; do
    echo "record $i" >&"${COPROC[1]}"
    read -r -t 1 answer <&"${COPROC[0]}" || echo "nothing came back for $i"
    echo "$answer"
done
