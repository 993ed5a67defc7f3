# SPDX-License-Identifier: BSD-2-Clause
# Every set of kernels that is here runs when it is forced, and gives the same bits and answers as scalar.
tamis gen words 3000 >words
tamis gen words 3000 --seed 2 >others
for kernel in scalar avx512; do
    export TAMIS_KERNEL=$kernel
    case $(tamis -V | sed -n 's/^kernel *//p') in
    unavailable) continue ;;
    "$kernel") ;;
    *) echo "$kernel did not run" ;;
    esac
    for kind in blocked classic; do
        for rate in 1e-1 1e-3 1e-6; do
            name=$kind.$rate.$kernel
            for part in words others; do
                tamis build -q --kind $kind --fpr $rate --expect 6000 -o $part.$name $part
            done
            tamis merge -q -o union.$name words.$name others.$name
            tamis check words.$name words others >hits.$name
            for file in words union hits; do
                scalar=$file.$kind.$rate.scalar
                tamis diff $scalar $file.$name >/dev/null 2>&1 || cmp -s $scalar $file.$name || echo "$file.$name differs"
            done
        done
    done
done
wc -l <hits.blocked.1e-6.scalar
