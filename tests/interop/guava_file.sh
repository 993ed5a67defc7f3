#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# writeTo() and readFrom() of Guava beside ours, on random filters: the system's Guava (libguava-java).
exec bash "$TAMIS_SOURCE_DIR/tests/interop/guava/files.sh" size "${TAMIS_GUAVA_JAR-/usr/share/java/guava.jar}"
