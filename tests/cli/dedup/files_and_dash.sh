# SPDX-License-Identifier: BSD-2-Clause
# Several files and standard input are one stream; a key may come again in another.
printf 'a\nb\n' > one
printf 'c\na\nd\n' > two
printf 'b\ne\n' | tamis dedup one - two
