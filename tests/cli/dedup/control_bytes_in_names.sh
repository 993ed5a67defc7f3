# SPDX-License-Identifier: BSD-2-Clause
# An error stays one line, whatever a file is called.
tamis dedup $'no\nsuch\e[31mfile'
