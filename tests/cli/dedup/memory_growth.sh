# SPDX-License-Identifier: BSD-2-Clause
# A filter that grows stops at --memory, before its rate is broken, and says what to do.
tamis gen urls 2000000 | tamis dedup --memory 2MiB > out
echo "status $?"
tamis gen urls "$(wc -l < out)" | cmp - out && echo 'all until then were written'
