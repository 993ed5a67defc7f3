#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: torture
# Layout 2 keeps every property in every run of these bounds. ctest: not-sanitized ctest: timeout=1800
. "$(dirname "$0")/run.bash"

holds "build beside build, with an adder" -DA1=$BUILD -DB1=$BUILD -DADDS=1
holds "build beside build, bad network" -DA1=$BUILD -DB1=$BUILD -DFAULTS=1
holds "build beside drop, bad network" -DA1=$BUILD -DB1=$DROP -DFAULTS=1
holds "build beside drop, then create" -DA1=$BUILD -DB1=$DROP -DB2=$CREATE
holds "create beside drop, bad network" -DA1=$CREATE -DB1=$DROP -DEMPTY=1 -DFAULTS=1
holds "create beside create, the hash vanishes" -DA1=$CREATE -DB1=$CREATE -DADDS=1 -DEVICT_HASH=1
holds "build beside create, the hash vanishes" -DA1=$BUILD -DB1=$CREATE -DADDS=1 -DEVICT_HASH=1
holds "create beside create, hash and copy vanish" -DA1=$CREATE -DB1=$CREATE -DADDS=1 -DEVICT_HASH=2 -DLEAKS=0
holds "drop beside create" -DA1=$DROP -DB1=$CREATE
holds "build beside drop on a full server, bad network" -DA1=$DROP_FULL -DB1=$BUILD -DFAULTS=1
holds "build with adder and reader, bad network" -DA1=$BUILD -DADDS=1 -DREADS=1 -DFAULTS=1
holds "build with adder and reader, a partition vanishes" -DA1=$BUILD -DADDS=1 -DREADS=1 -DEVICT=1
holds "resize with adder and reader, a partition vanishes" -DA1=$RESIZE -DADDS=1 -DREADS=1 -DEVICT=1
holds "resize beside build, with an adder" -DA1=$BUILD -DB1=$RESIZE -DADDS=1
holds "resize beside drop, bad network" -DA1=$RESIZE -DB1=$DROP -DFAULTS=1
holds "expire beside build, bad network" -DA1=$BUILD -DB1=$EXPIRE -DFAULTS=1
holds "expire beside build, the filter expires" -DA1=$BUILD -DB1=$EXPIRE -DEXPIRES=1
holds "expire beside build, bad network, the filter expires" -DA1=$BUILD -DB1=$EXPIRE -DFAULTS=1 -DEXPIRES=1
holds "expire beside persist, bad network, the filter expires" -DA1=$EXPIRE -DB1=$PERSIST -DTTL=1 -DFAULTS=1 -DEXPIRES=1
holds "drop, then create, beside persist; the filter expires" -DA1=$DROP -DA2=$CREATE -DB1=$PERSIST -DTTL=1 -DEXPIRES=1
holds "resize, then persist, with an adder that has a time to live; bad network" \
    -DA1=$RESIZE -DA2=$PERSIST -DTTL=1 -DADDS=1 -DRENEWS=1 -DFAULTS=1 -DLOCK_ENDS=0
holds "build, the control slot fails over" -DA1=$BUILD -DADDS=1 -DREADS=1 -DFAILOVER=1
holds "build, a partition fails over" -DA1=$BUILD -DADDS=1 -DREADS=1 -DFAILOVER=2
holds "resize, the control slot fails over" -DA1=$RESIZE -DADDS=1 -DFAILOVER=1
holds "resize, a partition fails over" -DA1=$RESIZE -DADDS=1 -DFAILOVER=2
if [ "${TAMIS_TEST_SCALE-}" = torture ]; then
    holds "resize beside build, bad network" -DA1=$RESIZE -DB1=$BUILD -DFAULTS=1
    holds "resize beside resize, with an adder" -DA1=$RESIZE -DB1=$RESIZE -DADDS=1
    holds "resize with adder and reader, bad network, a partition vanishes" \
        -DA1=$RESIZE -DADDS=1 -DREADS=1 -DFAULTS=1 -DEVICT=1
    holds "drop, then create, beside build, bad network" -DA1=$DROP -DA2=$CREATE -DB1=$BUILD -DFAULTS=1
    holds "build beside drop, very bad network" -DA1=$BUILD -DB1=$DROP -DFAULTS=2 -DLATE=2
    holds "persist beside two builds, bad network" -DA1=$PERSIST -DB1=$BUILD -DB2=$BUILD -DFAULTS=1
    for slot in 1 2; do
        holds "build, failover $slot, bad network" -DA1=$BUILD -DADDS=1 -DFAILOVER=$slot -DFAULTS=1
        holds "resize, failover $slot, bad network" -DA1=$RESIZE -DADDS=1 -DFAILOVER=$slot -DFAULTS=1
    done
fi
exit $((errors != 0))
