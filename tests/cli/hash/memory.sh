# SPDX-License-Identifier: BSD-2-Clause
# Millions of lines take no more memory than a few. ctest: not-sanitized
tamis gen words 2e6 | (
    ulimit -v 40000
    tamis hash --type utf16 | wc -l
)
