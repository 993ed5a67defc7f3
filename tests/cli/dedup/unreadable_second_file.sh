# SPDX-License-Identifier: BSD-2-Clause
# A file that cannot be read is noticed before anything is written.
echo a > one
tamis dedup one nowhere
