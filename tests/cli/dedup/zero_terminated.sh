# SPDX-License-Identifier: BSD-2-Clause
# With -z a record ends with a zero byte and may hold newlines.
printf 'a\nb\0c\0a\nb\0d' | tamis dedup -z | od -An -c
printf 'a\0b\0a\0' | tamis dedup --zero-terminated --count
