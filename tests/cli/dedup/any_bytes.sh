# SPDX-License-Identifier: BSD-2-Clause
# Zero bytes and bytes that are not text are part of a record like any others.
printf 'a\0b\na\0c\n\377\376\na\0b\n\377\n\377\376\n' | tamis dedup | od -An -tx1
