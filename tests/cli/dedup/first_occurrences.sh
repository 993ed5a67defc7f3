# SPDX-License-Identifier: BSD-2-Clause
# First occurrences, in input order; an empty line is a record.
printf 'b\na\nb\n\nc\n\na\n' | tamis dedup
