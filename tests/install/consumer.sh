#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# consumer.sh BUILD_DIR CC CXX CMAKE VERSION: installs the build into an empty directory and uses it like a
# user: builds the examples with pkg-config and with find_package, and runs the command from a shell.
set -euo pipefail
build=$1 cc=$2 cxx=$3 cmake=$4 version=$5
here=$(dirname "$(realpath "$0")")
examples=$here/../../docs/examples
work=$(mktemp -d "${TMPDIR:-/tmp}/tamis-install.XXXXXX")
redis_pid=
trap '[ -z "$redis_pid" ] || kill "$redis_pid"; rm -rf "$work"' EXIT
prefix=$work/prefix

fail() {
    echo "install: $*"
    exit 1
}
step() { echo "install: $*"; }
# quietly COMMAND...: shows the output only if the command fails.
quietly() { "$@" >"$work/log" 2>&1 || fail "$* failed: $(cat "$work/log")"; }

step "cmake --install"
# A DESTDIR of the caller would change the directory.
quietly env -u DESTDIR "$cmake" --install "$build" --prefix "$prefix"
lib=$(dirname "$(find "$prefix" -name libtamis.a)")
export PKG_CONFIG_PATH=$lib/pkgconfig

# ---- the examples ----------------------------------------------------------------------------------------

programs=(dedup.c once.c dedup_stream.c share_redis.c spam_filter.c crawler.c ten_million.c audit.c
    share_with_guava.cpp)
# shellcheck source-path=SCRIPTDIR source=examples.sh
. "$here/examples.sh"

# needs PROGRAM LIBRARY: true if the program is linked with the shared library.
needs() { readelf -dW "$1" | grep "NEEDED.*\[$2\]" >/dev/null; }
soname=libtamis.so.${version%%.*}

# line_of FILE: the compiler command in the comment at the head of an example.
line_of() { grep -m 1 -oE '(cc|c\+\+) .*\$\(pkg-config [^)]*\)' "$examples/$1"; }
# typed FILE OUTPUT FLAG...: runs that command, with the output and the flags added.
typed() {
    local line
    line=$(line_of "$1") || fail "$1: its head names no compiler line"
    case $line in
        "cc "*) line="$cc ${line#cc }" ;;
        "c++ "*) line="$cxx ${line#c++ }" ;;
    esac
    shift
    (cd "$examples" && quietly eval "$line -o $*")
}
mkdir "$work/pc" "$work/pc_static"
for file in "${programs[@]}"; do
    step "pkg-config: $(line_of "$file")"
    typed "$file" "$work/pc/${file%.*}" -Wall -Wextra -Wpedantic -Werror "-Wl,-rpath,$lib"
    needs "$work/pc/${file%.*}" "$soname" || fail "the shared ${file%.*} does not need $soname"
done
check_examples "$work/pc"
case ${TAMIS_TEST_SCALE:-full} in
    full | torture)
        step "ten million"
        check_spam_filter "$work/pc" 10000000
        check_ten_million "$work/pc" 10000000 72984448
        ;;
esac
step "ten_million with half of the bits"
sed 's/expected_insertions = n;/expected_insertions = n \/ 2;/' "$examples/ten_million.c" >"$work/planted.c"
# shellcheck disable=SC2046 # the output is several words
quietly "$cc" "$work/planted.c" -o "$work/planted" "-Wl,-rpath,$lib" $(pkg-config --cflags --libs tamis)
says 1 "NOT as promised" "$work/planted" 100000

step "pkg-config --static"
pkg-config() { command pkg-config --static "$@"; }
# Debian has no static library of ISA-L, so a fully static program is built without it.
has_isal() { [[ $(pkg-config --libs tamis-stream) = *-lisal* ]]; }
has_archive() { [ "$("$cc" -print-file-name=libisal.a)" != libisal.a ]; }
for file in "${programs[@]}"; do
    if [[ $(line_of "$file") = *tamis-stream* ]] && has_isal && ! has_archive; then
        step "$file: not static, for want of libisal.a"
        typed "$file" "$work/pc_static/${file%.*}" "-Wl,-rpath,$lib"
        continue
    fi
    typed "$file" "$work/pc_static/${file%.*}" -static
    ! needs "$work/pc_static/${file%.*}" '.*' || fail "the static ${file%.*} needs a shared library"
done
unset -f pkg-config
check_examples "$work/pc_static"

# with_cmake PREFIX DIR OPTION...: builds the examples with find_package
with_cmake() {
    local prefix=$1 dir=$2
    shift 2
    quietly "$cmake" -S "$examples" -B "$dir" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" "$@"
    quietly "$cmake" --build "$dir"
    check_examples "$dir"
}
step "find_package(Tamis), shared and static"
with_cmake "$prefix" "$work/cmake"
needs "$work/cmake/dedup" "$soname" || fail "the shared dedup does not need $soname"
with_cmake "$prefix" "$work/cmake_static" -DSTATIC_TAMIS=ON
! needs "$work/cmake_static/dedup" "$soname" || fail "the static dedup needs $soname"

step "moved to a place with spaces in its name"
moved="$work/an other place"
cp -r "$prefix" "$moved"
mv "$prefix" "$prefix.away"
mkdir "$work/pc_moved"
moved_lib=$moved${lib#"$prefix"}
for file in "${programs[@]}"; do
    compile=("$cc")
    # shellcheck disable=SC2034 # eval reads it
    [ "${file##*.}" = c ] || compile=("$cxx" -std=c++17)
    package=tamis
    [ "$file" != dedup_stream.c ] || package=tamis-stream
    [ "$file" != share_redis.c ] || package=tamis-redis
    # pkg-config escapes spaces for a second expansion by the shell.
    quietly eval "\"\${compile[@]}\" \"\$examples/$file\" -o \"\$work/pc_moved/${file%.*}\" \"-Wl,-rpath,\$moved_lib\" \
        $(PKG_CONFIG_PATH=$moved_lib/pkgconfig pkg-config --cflags --libs $package)"
done
check_examples "$work/pc_moved"
with_cmake "$moved" "$work/cmake_moved"
mv "$prefix.away" "$prefix"

step "versions"
packages=(tamis tamis-stream tamis-redis)
[ ! -e "$lib/pkgconfig/tamis-kafka.pc" ] || packages+=(tamis-kafka)
[ ! -e "$lib/pkgconfig/tamis-guard.pc" ] || packages+=(tamis-guard)
[ ! -e "$lib/pkgconfig/tamis-server.pc" ] || packages+=(tamis-server)
for package in "${packages[@]}"; do
    quietly pkg-config --cflags --libs "$package"
    [ "$(pkg-config --modversion $package)" = "$version" ] || fail "$package.pc has another version than $version"
    ! pkg-config --exists "$package >= ${version%%.*}.9999" || fail "$package.pc passes for a later version"
done
# find_version VERSION: true if find_package(Tamis VERSION) succeeds.
mkdir "$work/find"
cat >"$work/find/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(find LANGUAGES C)
find_package(Tamis ${WANTED} REQUIRED)
END
find_version() {
    "$cmake" -S "$work/find" -B "$work/find/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="$cc" -DWANTED="$1" >"$work/log" 2>&1
}
IFS=. read -r major minor patch <<<"$version"
find_version "$version" || fail "find_package(Tamis $version) fails: $(cat "$work/log")"
for wrong in $((major + 1)).0 "$major.$((minor + 1))" "$major.$minor.$((patch + 1))"; do
    ! find_version "$wrong" || fail "find_package(Tamis $wrong) takes $version"
    grep -q "$version" "$work/log" || fail "the refusal of $wrong does not name $version: $(cat "$work/log")"
done

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
add_executable(parent "$examples/dedup.c")
target_link_libraries(parent PRIVATE Tamis::tamis)
EOF
quietly "$cmake" -S "$work/parent" -B "$work/parent/build" -G Ninja -DCMAKE_C_COMPILER="$cc"

# ---- the command -----------------------------------------------------------------------------------------

step "the command, its pages and its completions"
"$prefix/bin/tamis" --version >"$work/out" || fail "tamis --version failed"
# Redis refuses a module without permission to execute it.
module=$(find "$prefix" -name tamis.so)
[ -x "$module" ] || fail "tamis.so was not installed, or cannot be executed"
grep -qF "$version" "$work/out" || fail "tamis --version printed: $(cat "$work/out")"
"$prefix/bin/tamis" dedup <"$work/many" | cmp - "$work/many_unique" || fail "tamis dedup failed"

pages=("$prefix"/share/man/man1/*.1)
[ -e "$prefix/share/man/man1/tamis.1" ] || fail "no tamis.1"
[ -e "$prefix/share/man/man1/tamis-dedup.1" ] || fail "no tamis-dedup.1"
mandoc -Tlint -W warning "${pages[@]}" || fail "mandoc finds fault with the manual pages"
[ "$(<"$prefix/share/man/man3/tamis_filter_open.3")" = ".so man3/tamis_file.3" ] || fail "no tamis_filter_open.3"
[ -e "$prefix/share/man/man3/tamis_file.3" ] || fail "no tamis_file.3"
for completion in bash-completion/completions/tamis fish/vendor_completions.d/tamis.fish zsh/site-functions/_tamis; do
    [ -s "$prefix/share/$completion" ] || fail "no $completion"
done
bash -c '. "$1"; complete -p tamis' - "$prefix/share/bash-completion/completions/tamis" >/dev/null ||
    fail "the completion for bash does not complete tamis"

for file in "$prefix"/share/doc/tamis/LICENSE "$prefix"/include/tamis/tamis.h; do
    [ -s "$file" ] || fail "no $file"
done
# The files that manual pages name.
zcat -f "${pages[@]}" | grep -o 'share/doc/tamis/[A-Za-z/-]*[A-Za-z.]*[a-z]' | sort -u >"$work/named"
grep -q guide/serve.md "$work/named" || fail "the manual does not name the guide of serve"
while read -r file; do
    [ -e "$prefix/$file" ] || fail "a manual page names $file, which is not installed"
done <"$work/named"
"$prefix/bin/tamis" serve --check "$prefix/share/doc/tamis/examples/guard/demo.yaml" >"$work/out" 2>&1 ||
    grep -q 'built without' "$work/out" || fail "the example of serve: $(cat "$work/out")"
if grep -rIlF -e "$build" "$prefix"/lib*/ "$prefix"/share "$prefix"/include; then
    fail "files above name the build directory"
fi
step "all good"
