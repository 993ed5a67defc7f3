# SPDX-License-Identifier: BSD-2-Clause
# A record of just --max-record passes, a longer one is an error that names the place.
printf 'aaaa\nbbbb\naaaa\n' | tamis dedup --max-record 4
echo "status $?"
printf 'aaaa\nbbbbb\n' | tamis dedup --max-record 4 > /dev/null
