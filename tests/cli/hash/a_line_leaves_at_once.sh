# SPDX-License-Identifier: BSD-2-Clause
# A line that arrives alone is answered alone.
mkfifo in out
tamis hash --scheme guava64 < in > out &
exec 3> in 4< out
for key in foo bar; do
    echo $key >&3
    read -r -u 4 -t 60 digest && echo "$digest"
done
exec 3>&-
wait
