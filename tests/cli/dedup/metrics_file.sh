# SPDX-License-Identifier: BSD-2-Clause
# --metrics FILE: figures of a run that ends, and while one waits for input; the file may fail for a while.
statistics() { grep -v '^#' "$1" | sed -E 's/^(.*(memory_bytes|timestamp_seconds|positive_rate)) .*/\1 N/'; }
shows() {
    until grep -qsx "$2" "$1"; do sleep 0.02; done
}
printf '%s\n' a b a > in
tamis dedup in -o once --metrics m.prom
statistics m.prom
grep -c '^# HELP' m.prom
grep -c '^# TYPE' m.prom
ls -A
echo 'while it waits'
mkdir d
mkfifo pipe
tamis dedup --state seen --source field:1 --position field:2 --key field:3 --delimiter space -o once2 \
    --metrics d/m.prom < pipe 2> err &
exec 3> pipe
printf '%s\n' 'p 1 a' 'p 2 b' 'p 3 a' 'p 3 a' >&3
shows d/m.prom 'tamis_records_total{result="redelivered"} 1'
shows d/m.prom 'tamis_filter_keys 2'
until grep -qs last_commit d/m.prom; do sleep 0.02; done
statistics d/m.prom
mv d e
until grep -qs 'd/m.prom' err; do sleep 0.02; done
sleep 1.2
mv e d
echo 'p 4 c' >&3
shows d/m.prom 'tamis_filter_keys 3'
exec 3>&-
wait $!
echo "status $?"
cat err
echo 'a window, and a file that is followed'
printf '%s\n' '1700000000 a' '1700000060 b' > log
tamis dedup --window 1h --step 5m --time field:1 --key field:2 --delimiter space --follow-input --metrics w.prom log \
    > once3 &
shows w.prom 'tamis_window_newest_timestamp_seconds 1700000060'
shows w.prom 'tamis_lag_bytes 0'
kill $!
wait $!
echo "status $?"
