# SPDX-License-Identifier: BSD-2-Clause
# One object on one line of standard error; with --count the number is on standard output.
printf 'a\nb\na\n' | tamis dedup --json --count --exact
