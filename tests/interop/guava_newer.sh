#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Like guava.sh, with a Guava after 33.3, which computes k in another way; `./dev peers` fetches it.
# ctest: peers
peers=${TAMIS_PEERS_DIR-$TAMIS_SOURCE_DIR/build/peers}
exec bash "$TAMIS_SOURCE_DIR/tests/interop/guava/side_by_side.sh" fpp "$peers/guava.jar" "$peers/failureaccess.jar"
