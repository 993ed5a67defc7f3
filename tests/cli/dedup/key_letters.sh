# SPDX-License-Identifier: BSD-2-Clause
# Keys without case, in any language, and without blanks at the ends; records are printed unchanged.
printf 'Stra\303\237e\nSTRASSE\nstrasse \n\303\204\n\303\244\n' > words
tamis dedup --ignore-case words
echo trimmed; tamis dedup --ignore-case --trim words
echo of a part; printf 'x\t A \ny\ta\n' | tamis dedup --key field:2 --trim --ignore-case | tr '\t' ' '
echo carriage returns; printf 'a\r\na\n' | tamis dedup --trim | od -An -c
echo bytes that are not UTF-8; printf '\377\n\376\n\377\n' | tamis dedup --ignore-case | od -An -c
