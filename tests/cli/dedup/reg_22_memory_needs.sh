# SPDX-License-Identifier: BSD-2-Clause
# A growing filter begins with less than a memory limit that is refused; the message says what it needs later.
printf 'a\n' | tamis dedup --memory 64K; echo "exit $?"
printf 'a\n' | tamis dedup --memory 64K --expect 1000; echo "exit $?"
