# SPDX-License-Identifier: BSD-2-Clause
# After a signal the old file is unchanged, no temporary file is left, and a message says so.
. "$TAMIS_SOURCE_DIR/tests/support/follow.bash"
set -m
mkfifo in
echo old > once
tamis dedup -o once --duplicates again < in &
exec 3> in
printf 'a\nb\na\n' >&3
has_read in
sleep 0.3
kill -TERM $!
wait $!
echo "status $?"
cat once
ls -A
