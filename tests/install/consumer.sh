#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# consumer.sh BUILD_DIR CC CMAKE VERSION: installs the build into an empty place and uses it from there, as a
# user would: through pkg-config, through find_package and from the shell.
set -eu
build=$1 cc=$2 cmake=$3 version=$4
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d "${TMPDIR:-/tmp}/tamis-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

fail() {
    echo "install: $*"
    exit 1
}
step() { echo "install: $*"; }

step "cmake --install"
# A DESTDIR of the caller would put it elsewhere.
env -u DESTDIR "$cmake" --install "$build" --prefix "$prefix" >"$work/log" || fail "$(cat "$work/log")"
lib=$(dirname "$(find "$prefix" -name libtamis.a)")

# check_programs DIR SUFFIX: both programs of this form do what they should.
check_programs() {
    "$1/consumer_core$2" >"$work/out" || fail "consumer_core$2 failed"
    grep -q "^tamis $version, " "$work/out" || fail "consumer_core$2 printed: $(cat "$work/out")"
    [ "$(printf 'a\nb\na\n' | "$1/consumer_stream$2")" = "$(printf 'a\nb')" ] || fail "consumer_stream$2 failed"
}

export PKG_CONFIG_PATH=$lib/pkgconfig
for package in tamis tamis-stream; do
    [ "$(pkg-config --modversion $package)" = "$version" ] || fail "$package.pc has another version than $version"
done
mkdir "$work/pc"
for name in core stream; do
    package=tamis
    [ $name = core ] || package=tamis-stream
    step "pkg-config $package, shared and static"
    # shellcheck disable=SC2046
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror "$here/consumer_$name.c" -o "$work/pc/consumer_$name" \
        $(pkg-config --cflags --libs $package) -Wl,-rpath,"$lib"
    # shellcheck disable=SC2046
    "$cc" -static -std=c11 "$here/consumer_$name.c" -o "$work/pc/consumer_${name}_static" \
        $(pkg-config --cflags --static --libs $package)
done
check_programs "$work/pc" ""
check_programs "$work/pc" _static
readelf -dW "$work/pc/consumer_core" | grep -q "NEEDED.*\[libtamis\.so\.${version%%.*}\]" ||
    fail "the shared program does not need libtamis.so.${version%%.*}"

step "find_package(Tamis)"
"$cmake" -S "$here" -B "$work/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    >"$work/log" 2>&1 || fail "$(cat "$work/log")"
"$cmake" --build "$work/cmake" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
check_programs "$work/cmake" ""
check_programs "$work/cmake" _static

step "as a part of another project, without the developers' extras"
mkdir "$work/parent"
cat >"$work/parent/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES C)
add_subdirectory("$here/../.." tamis)
foreach(extra CLI TESTS BENCH)
  if(TAMIS_BUILD_\${extra})
    message(FATAL_ERROR "TAMIS_BUILD_\${extra} is on in a subproject")
  endif()
endforeach()
add_executable(parent "$here/consumer_core.c")
target_link_libraries(parent PRIVATE Tamis::tamis)
EOF
"$cmake" -S "$work/parent" -B "$work/parent/build" -G Ninja -DCMAKE_C_COMPILER="$cc" >"$work/log" 2>&1 ||
    fail "$(cat "$work/log")"

step "the command, its pages and its completion"
"$prefix/bin/tamis" --version >"$work/out" || fail "tamis --version failed"
grep -qF "$version" "$work/out" || fail "tamis --version printed: $(cat "$work/out")"
[ "$(printf 'a\nb\na\n' | "$prefix/bin/tamis" dedup)" = "$(printf 'a\nb')" ] || fail "tamis dedup failed"

pages=("$prefix"/share/man/man1/*.1)
[ -e "$prefix/share/man/man1/tamis.1" ] || fail "no tamis.1"
[ -e "$prefix/share/man/man1/tamis-dedup.1" ] || fail "no tamis-dedup.1"
mandoc -Tlint -W error "${pages[@]}" || fail "mandoc finds errors in the manual pages"
completion=$prefix/share/bash-completion/completions/tamis
[ -s "$completion" ] || fail "no completion"
bash -n "$completion" || fail "the completion is no bash"
bash -c '. "$1"; complete -p tamis' - "$completion" >/dev/null || fail "the completion does not complete tamis"

for file in "$prefix"/share/doc/tamis/LICENSE "$prefix"/include/tamis/tamis.h; do
    [ -s "$file" ] || fail "no $file"
done
if grep -rIlF -e "$build" "$prefix"/lib*/ "$prefix"/share "$prefix"/include; then
    fail "files above name the build directory"
fi
step "all good"
