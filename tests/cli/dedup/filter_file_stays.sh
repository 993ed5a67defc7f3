# SPDX-License-Identifier: BSD-2-Clause
# After an error or a signal the file of --filter is unchanged or does not exist, and a message says so.
. "$TAMIS_SOURCE_DIR/tests/support/follow.bash"
set -m # so that an interrupt is not ignored
printf '%s\n' a b > in
tamis dedup --filter f.tamis --expect 4 --kind classic in
cp f.tamis before
mkfifo pipe
try() {
    echo "status $?"
    cmp f.tamis before
}
printf '%s\n' {1..200} | tamis dedup --filter f.tamis > out
try
tamis gen words 2000 | tamis dedup --filter f.tamis --on-full pass --max-record 2 > out
try
tamis dedup --filter f.tamis in pipe missing
try
tamis dedup --filter f.tamis f.tamis
try
tamis dedup --filter f.tamis -o f.tamis in
try
tamis dedup --filter f.tamis --secret-file f.tamis in
try
tamis dedup --filter in in
try
tamis dedup --filter directory/f.tamis in
try
echo x | tamis dedup --filter f.tamis > /dev/full
try
{ echo a; tamis gen words 2000; } | tamis dedup --filter g.tamis --max-record 2
try
tamis gen words 500000 | tamis dedup --filter g.tamis | head -n 0
echo "${PIPESTATUS[1]}"
tamis dedup --filter f.tamis -o out2 pipe &
exec 3> pipe
echo c >&3
has_read pipe
sleep 0.3
kill -INT $!
wait $!
try
ls -A
