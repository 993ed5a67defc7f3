# SPDX-License-Identifier: BSD-2-Clause
# For tests of a command that follows a file in the background: source
# "$TAMIS_SOURCE_DIR/tests/support/follow.bash".

# has FILE RECORD: waits until the file has the record.
has() {
    until grep -qsx "$2" "$1"; do sleep 0.02; done
}

# stop SIGNAL: sends the signal to the last command in the background, and returns its status. Bash's message
# about it is dropped.
stop() {
    kill "$1" $!
    { wait $!; } 2> /dev/null
}
