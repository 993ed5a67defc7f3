# SPDX-License-Identifier: BSD-2-Clause
# What follows -- is a file, even if it looks like an option.
printf 'a\na\n' > --count
tamis dedup -- --count
