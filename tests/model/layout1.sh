#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Layout 1 breaks in each of the ways that were seen on servers. ctest: not-sanitized ctest: timeout=600
. "$(dirname "$0")/run.bash"

finds I2 "a build stopped at its switch, another build and adds" -DLAYOUT1 -DA1=$BUILD -DB1=$BUILD -DADDS=1 -DLEAKS=0
finds I2 "a build stopped at its switch, a drop and a creation" -DLAYOUT1 -DA1=$BUILD -DB1=$DROP -DB2=$CREATE -DLEAKS=0
finds I "a drop stopped after its read, a build meanwhile" -DLAYOUT1 -DA1=$DROP -DB1=$BUILD
finds I2 "the end of a resize stopped, a build meanwhile" -DLAYOUT1 -DA1=$RESIZE -DB1=$BUILD -DLEAKS=0
finds I1 "a switch sent twice, no lock run out" -DLAYOUT1 -DA1=$BUILD -DB1=$BUILD -DLOCK_ENDS=0 -DFAULTS=1 -DLEAKS=0
finds I1 "a drop's HDEL sent twice, no lock run out" -DLAYOUT1 -DA1=$DROP -DB1=$BUILD -DLOCK_ENDS=0 -DFAULTS=1 -DLEAKS=0
finds I1 "the state of a maker that was held up, an eviction" \
    -DLAYOUT1 -DA1=$CREATE -DB1=$BUILD -DEMPTY=1 -DADDS=1 -DEVICT=1 -DLOCK_ENDS=0 -DLEAKS=0
finds I4 "expire beside a build" -DLAYOUT1 -DA1=$EXPIRE -DB1=$BUILD -DLOCK_ENDS=0 -DLEAKS=0
finds I1_lock "a release by GET, then DEL" -DLAYOUT1 -DF_RELEASE -DA1=$BUILD -DB1=$BUILD
finds I3 "a drop while a creation makes its partitions" -DLAYOUT1 -DA1=$CREATE -DB1=$DROP -DEMPTY=1 -DLOCK_ENDS=0
finds I1 "a creation after the hash was deleted" -DLAYOUT1 -DA1=$CREATE -DEVICT_HASH=1 -DLOCK_ENDS=0 -DLEAKS=0
exit $((errors != 0))
