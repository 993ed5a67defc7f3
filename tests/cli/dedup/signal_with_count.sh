# SPDX-License-Identifier: BSD-2-Clause
# A run that is stopped while counting prints how far it came.
. "$TAMIS_SOURCE_DIR/tests/support/follow.bash"
set -m
mkfifo in
tamis dedup --count < in &
exec 3> in
printf 'a\nb\na\n' >&3
has_read in
sleep 0.3
kill -INT $!
wait $!
echo "status $?"
