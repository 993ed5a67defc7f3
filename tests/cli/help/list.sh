# SPDX-License-Identifier: BSD-2-Clause
# Every command in a line.
tamis help
tamis --help | cmp - <(tamis help)
tamis -h | cmp - <(tamis help)
