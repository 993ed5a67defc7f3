# SPDX-License-Identifier: BSD-2-Clause
# The help of dedup as a whole: a change of it is meant.
tamis dedup --help
