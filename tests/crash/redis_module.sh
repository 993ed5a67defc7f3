#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: torture
# ctest: timeout=900
# Random commands to the Redis module, and kills of the server, compared with a model of each filter
# (tests/crash/redis_module.py). By ./dev torture the module is built with AddressSanitizer and
# UndefinedBehaviorSanitizer, whose runtimes are loaded into redis-server.
set -u
# shellcheck source=tests/support/redis_module.bash
. "$TAMIS_SOURCE_DIR/tests/support/redis_module.bash"
if [ "$(scaled no no yes)" = yes ]; then
    for name in libasan.so libubsan.so; do
        path=$(gcc -print-file-name=$name)
        [ "$path" != $name ] || { echo "needs gcc's $name"; exit 77; }
        export TAMIS_PRELOAD=${TAMIS_PRELOAD-}${TAMIS_PRELOAD:+:}$path
    done
    # Without vector kernels, which take minutes to compile with sanitizers and have tests of their own.
    { cmake -G Ninja -S "$TAMIS_SOURCE_DIR" -B "$work/build" -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_C_FLAGS="-O1 -fsanitize=address,undefined -fno-sanitize-recover=all" \
        -DTAMIS_SCALAR_ONLY=ON -DTAMIS_BUILD_TESTS=OFF &&
        ninja -C "$work/build" -j2 tamis_module; } >"$work/log" 2>&1 || { tail -n 25 "$work/log"; exit 2; }
    module=$work/build/module/tamis.so
    export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1
fi
python3 -B "$TAMIS_SOURCE_DIR/tests/crash/redis_module.py" "$module" "$work" "$seed" "$(scaled 2 5 1200)"
