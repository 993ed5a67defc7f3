# SPDX-License-Identifier: BSD-2-Clause
# What ./dev does not understand it refuses before it does anything.
export TAMIS_KAFKA_PORT=1
dev() { bash "$TAMIS_SOURCE_DIR/dev" "$@"; }
try() {
    dev "$@"
    echo "$*: $?"
}
try install ''
try install a b
try install -x
try test --quick extra
try test ''
try test --slow
try fuzz 0
try fuzz ''
try fuzz 1 2
try torture x
try torture 1 2
try fmt --check x
try peers x
try kafka down x 2> usage
grep -c '/dev kafka [a-z]' usage
try kafka down # none of that port is there
TAMIS_KAFKA_PORT=http try kafka topics
try frobnicate
dev help > help
for verb in test bench fuzz torture fmt install peers kafka help; do
    dev $verb --help | cmp - help
    dev $verb -h | cmp - help
done
