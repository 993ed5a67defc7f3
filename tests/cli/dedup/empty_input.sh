# SPDX-License-Identifier: BSD-2-Clause
# No records, no output.
tamis dedup --count
tamis dedup < /dev/null
