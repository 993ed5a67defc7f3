# SPDX-License-Identifier: BSD-2-Clause
trap "" PIPE
# A filter file is truncated while it is mapped: an error that names it, not a crash, in any thread.
tamis gen words 300000 > in
mkfifo pipe
for threads in 1 2 7; do
    tamis build -o f.tamis in
    tamis check --threads "$threads" f.tamis pipe > out 2> err &
    exec 3> pipe
    head -n 1 in >&3
    sleep 0.3
    : > f.tamis
    cat in >&3 2> /dev/null
    exec 3>&-
    wait $!
    echo "status $?"
    cat err
done
