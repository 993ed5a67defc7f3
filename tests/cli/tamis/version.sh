# SPDX-License-Identifier: BSD-2-Clause
# Version, kernels and libraries.
tamis --version | sed -E 's/[0-9]+\.[0-9]+(\.[0-9]+)*$/N/; s/^(kernel +).*/\1K/'
TAMIS_KERNEL=scalar tamis -V | grep kernel
TAMIS_KERNEL=none-such tamis -V | grep kernel
