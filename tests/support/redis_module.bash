# SPDX-License-Identifier: BSD-2-Clause
# For tests of the Redis module. Source "$TAMIS_SOURCE_DIR/tests/support/redis_module.bash": it sources random.bash and
# sets $module. Without the module or redis-server the script exits with 77: skipped.
#
#     module_run PROGRAM ARGUMENT...   runs a program of tests/interop/redis with $module, $work, $seed and the arguments,
#                                      by a Python that has the client redis
# shellcheck source=tests/support/random.bash
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
module=$TAMIS_BUILD_DIR/module/tamis.so
[ -e "$module" ] || { echo "skipped: built without the module (TAMIS_MODULE)"; exit 77; }
command -v redis-server >/dev/null || { echo "needs redis-server"; exit 77; }

module_run() {
    local program=$1 python
    shift
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import redis' 2>/dev/null || continue
        "$python" -B "$TAMIS_SOURCE_DIR/tests/interop/redis/$program" "$module" "$work" "$seed" "$@"
        return
    done
    echo "needs python3-redis"
    exit 77
}
