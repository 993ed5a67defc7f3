# SPDX-License-Identifier: BSD-2-Clause
# Standard output that was closed before the start is an error, not silence.
printf 'a\n' | tamis dedup >&-
