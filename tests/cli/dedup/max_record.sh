# SPDX-License-Identifier: BSD-2-Clause
# A record of exactly --max-record bytes is accepted. A longer one is an error that names the position.
printf 'aaaa\nbbbb\naaaa\n' | tamis dedup --max-record 4
echo "status $?"
printf 'aaaa\nbbbbb\n' | tamis dedup --max-record 4 > /dev/null
