# SPDX-License-Identifier: BSD-2-Clause
# A signal during copy, merge or clear: the old file stays, no temporary file is left, the exit status is the
# signal's.
set -m # so that an interrupt is not ignored
tamis build -o f.tamis --kind blocked --expect 1e8 --fpr 1e-2 /dev/null
mkdir out

# interrupt SIGNAL STATUS COMMAND...: repeats until the signal comes during a run; after a run that was done
# earlier the file is whole.
interrupt() {
    local signal=$1 want=$2 status=0
    shift 2
    for _ in {1..100}; do
        echo old > out/o
        [ "$1" = clear ] && cp f.tamis out/o
        before=$(stat -c %i out/o)
        tamis "$@" &
        until [ -e out/.o.tamis-lock ] || ! kill -0 $! 2> /dev/null; do :; done
        kill -$signal $! 2> /dev/null
        wait $!
        status=$?
        [ "$(ls -A out)" = o ] || ls -A out
        [ $status = 0 ] || break
    done
    echo "$1: status $status, $want wanted"
    [ "$before" = "$(stat -c %i out/o)" ] && echo "the old file is there"
}
interrupt INT 130 copy -o out/o f.tamis
interrupt TERM 143 copy --gzip -o out/o f.tamis
interrupt HUP 129 merge -o out/o f.tamis f.tamis
interrupt INT 130 clear out/o
