# SPDX-License-Identifier: BSD-2-Clause
# A carriage return is part of the record and is kept.
printf 'a\r\na\nb\r\na\r\n' | tamis dedup | od -An -c
