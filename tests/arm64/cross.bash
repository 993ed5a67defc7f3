# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the scripts of this directory. Builds libtamis and its tests for arm64 with Debian's cross
# compiler, in a build directory of their own; qemu runs them. If a tool is missing, its name is printed and
# the test is skipped.
set -u
here=$TAMIS_SOURCE_DIR/tests/arm64
cross=$TAMIS_BUILD_DIR/arm64
export TAMIS_TEST_SCALE=quick # an emulated test takes ten times as long

needs() {
    echo "$*"
    exit 77
}

command -v aarch64-linux-gnu-gcc >/dev/null || needs "no compiler for arm64 (gcc-aarch64-linux-gnu)"
qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || needs "no qemu-aarch64 (qemu-user)"
for module in libxxhash libsodium cmocka; do
    PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig pkg-config --exists "$module" ||
        needs "no $module for arm64 (./dev test installs it where Debian's packages are)"
done

# build_cross: builds what has changed.
build_cross() {
    local log=$TAMIS_BUILD_DIR/arm64.log
    [ -e "$cross/build.ninja" ] ||
        cmake -S "$TAMIS_SOURCE_DIR" -B "$cross" -G Ninja --toolchain "$here/toolchain.cmake" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
            -DTAMIS_CORE_ONLY=ON -DTAMIS_BUILD_TESTS=ON -DTAMIS_WERROR=ON \
            "-DTAMIS_TEST_LABELS=unit;kernel;format;arm64" "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2" >"$log" 2>&1 &&
        ninja -C "$cross" >"$log" 2>&1 || {
        tail -n 40 "$log"
        exit 1
    }
}
