# SPDX-License-Identifier: BSD-2-Clause
# Quiet, and dead of SIGPIPE.
tamis gen urls 1e9 | head -n 1 | wc -l
echo "${PIPESTATUS[0]}"
