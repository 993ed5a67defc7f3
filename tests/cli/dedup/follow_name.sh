# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# --follow-input says so when the followed name has no file, and when its file cannot be followed.
lose_name() {
    until grep -qs a once; do sleep 0.02; done
    mv log log.1
    until [ -s err ]; do sleep 0.02; done
    mkfifo log
    wait $!
    echo "status $?"
    cat err
    rm -f log once err
}
echo a > log
tamis dedup --follow-input log > once 2> err &
lose_name
echo a > log
tamis dedup --follow-input log --state seen -o once 2> err &
lose_name
