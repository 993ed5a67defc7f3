# SPDX-License-Identifier: BSD-2-Clause
# No records: no division by zero.
tamis dedup --stats < /dev/null 2>&1 | grep -ciE 'nan|inf'
tamis dedup --json < /dev/null 2>&1 | grep -ciE 'nan|inf'
