# SPDX-License-Identifier: BSD-2-Clause
# The summary is on standard error, in lines that align.
printf 'a\nb\na\n' | tamis dedup --stats > out
cat out
