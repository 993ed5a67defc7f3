#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: torture
# A pipe with positions keeps every property in every run of these bounds.
# ctest: not-sanitized ctest: timeout=1800
MODEL=positions
. "$(dirname "$0")/run.bash"

holds "nobody is killed, the consumer goes back twice" -DKILLS=0 -DRETURNS=2
holds "the run is killed, the consumer goes back" -DKILLS=1 -DRETURNS=1
holds "the run is killed twice" -DKILLS=2 -DRETURNS=0
holds "power is lost" -DKILLS=1 -DRETURNS=1 -DPOWER=1
holds "a source is recreated, the run is killed" -DPOSITIONS=3 -DKILLS=1 -DRETURNS=0 -DRECREATED=1
if [ "${TAMIS_TEST_SCALE-}" = torture ]; then
    holds "the run is killed twice, the consumer goes back, power is lost" -DKILLS=2 -DRETURNS=1 -DPOWER=1
    holds "three positions, the run is killed" -DPOSITIONS=3 -DKILLS=1 -DRETURNS=1
fi
exit $((errors != 0))
