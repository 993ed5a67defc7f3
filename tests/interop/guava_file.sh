#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Files of Guava's writeTo() and readFrom(), compared with the system's Guava (libguava-java) on random
# filters.
exec bash "$TAMIS_SOURCE_DIR/tests/interop/guava/files.sh" size "${TAMIS_GUAVA_JAR-/usr/share/java/guava.jar}"
