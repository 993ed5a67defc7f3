# SPDX-License-Identifier: BSD-2-Clause
# For tests of a command that reads a followed file or a FIFO in the background: source
# "$TAMIS_SOURCE_DIR/tests/support/follow.bash".

# has FILE RECORD: waits until the file has the record.
has() {
    until grep -qsx "$2" "$1"; do sleep 0.02; done
}

# has_read FIFO: waits until the command has read all that the script wrote to the FIFO. The script still has it
# open for writing.
has_read() {
    local fifo_fd
    exec {fifo_fd}< "$1"
    while read -r -t 0 <&"$fifo_fd"; do sleep 0.02; done
    exec {fifo_fd}<&-
}

# handles_term: waits until the last command in the background has its handler of SIGTERM, bit 14 of the mask.
handles_term() {
    until grep -qs '^SigCgt:.*[4-7c-f]...$' /proc/$!/status; do sleep 0.02; done
}

# stop SIGNAL: sends the signal to the last command in the background, and returns its status. Bash's message
# about it is dropped.
stop() {
    kill "$1" $!
    { wait $!; } 2> /dev/null
}
