# SPDX-License-Identifier: BSD-2-Clause
# Version, kernels, huge pages and libraries.
tamis --version | sed -E 's/[0-9]+\.[0-9]+(\.[0-9]+)*$/N/; s/^(kernel +).*/\1K/; s/^(hugepage) (always|madvise|never|unavailable)$/\1 H/'
TAMIS_KERNEL=scalar tamis -V | grep kernel
TAMIS_KERNEL=none-such tamis --version
