#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every method of Guava's BloomFilter, compared with the system's Guava (libguava-java) on random operations.
exec bash "$TAMIS_SOURCE_DIR/tests/interop/guava/side_by_side.sh" size "${TAMIS_GUAVA_JAR-/usr/share/java/guava.jar}"
