# SPDX-License-Identifier: BSD-2-Clause
# Files that are not filters are named, and the others are described.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
try() {
    tamis info "$@"
    echo "$*: $?"
}
dcso_file good.bloom
echo text > text
: > empty
mkfifo fifo
mkdir directory
head -c 60 good.bloom > cut.bloom
cp good.bloom $'new\nline.bloom'
try
try nowhere good.bloom directory
try text empty fifo
try cut.bloom
try --jsno good.bloom
try $'new\nline.bloom' | head -n 1
cp good.bloom $'\xff.bloom'
tamis info --json $'\xff.bloom' | head -c 24
chmod 0 text
plainly tamis info text
echo "$?"
