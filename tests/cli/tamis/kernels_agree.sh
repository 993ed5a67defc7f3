# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# Every set of kernels that is here runs when it is forced, and makes the files that scalar makes, byte for
# byte.
tamis gen words 3000 >words
tamis gen words 3000 --seed 2 >others

# blank FILE: without the time of making, and the sum over it.
blank() { head -c 16 "$1" && tail -c +25 "$1" | head -c 144 && tail -c +177 "$1"; }

# make KERNEL NAME OPTION...: everything that filters are made by.
make() {
    local name=$1.$2
    shift 2
    for part in words others; do
        tamis build -q "$@" --expect 6000 -o $part.$name $part || echo "$name failed"
    done
    tamis dedup -q "$@" --expect 6000 words others words >fresh.$name
    tamis check words.$name words others >hits.$name
    case $name in
    *.classic* | *.blocked*) tamis merge -q -o merged.$name words.$name others.$name ;;
    esac
    for file in words others merged; do
        [ ! -e $file.$name ] || blank $file.$name >$file.$name.blank
    done
}

for kernel in scalar neon avx2 avx512; do
    export TAMIS_KERNEL=$kernel
    tamis -V >version 2>refusal || { grep -q 'no such kernels' refusal && continue; }
    case $(sed -n 's/^kernel *//p' version) in
    "$kernel") ;;
    *) echo "$kernel did not run" ;;
    esac
    for rate in 1e-1 1e-6; do
        for kind in blocked classic fingerprint; do
            make $kernel $kind.$rate --kind $kind --fpr $rate
        done
        make $kernel classic-guava.$rate --kind classic --scheme guava64 --fpr $rate
    done
    make $kernel exact --exact
    tamis dedup -q --filter grown.$kernel words others words >fresh.$kernel.grown
    blank grown.$kernel >grown.$kernel.blank
    for file in fresh.$kernel.* hits.$kernel.* *.blank; do
        cmp "${file/.$kernel./.scalar.}" "$file"
    done
done
wc -l <hits.scalar.blocked.1e-6
wc -l <fresh.scalar.grown
