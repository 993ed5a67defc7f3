# SPDX-License-Identifier: BSD-2-Clause
# --exact and --kind exact say the same.
printf 'a\na\n' | tamis dedup --exact --kind exact
