# SPDX-License-Identifier: BSD-2-Clause
# A kernel that is not there is refused, never replaced in silence.
echo a | TAMIS_KERNEL=none-such tamis dedup
echo "status $?"
echo a | TAMIS_KERNEL=none-such tamis hash
echo "status $?"
echo a | TAMIS_KERNEL=scalar tamis dedup
