# SPDX-License-Identifier: BSD-2-Clause
# A follower goes on being told of changes by the system after the log was rotated: it does not look 50 times
# a second.
. "$TAMIS_SOURCE_DIR/tests/support/follow.bash"
has_inotify() { ls -l "/proc/$!/fd" 2> /dev/null | grep -q inotify; }
echo first > log
tamis dedup --follow-input log > once &
has once first
has_inotify || {
    stop -TERM
    echo "skipped: no inotify here" >&2
    exit 77
}
for i in 1 2 3; do
    mv log "log.$i"
    echo "record $i" > log
    has once "record $i"
    sleep 0.1
    has_inotify || echo "not told of changes after rotation $i"
done
stop -TERM
cat once
