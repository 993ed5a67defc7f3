# SPDX-License-Identifier: BSD-2-Clause
# A full disk is an error: on standard output, on a device given by name, and for the number of --count.
printf 'a\nb\n' > in
tamis dedup in > /dev/full
echo "status $?"
tamis dedup -o /dev/full in
echo "status $?"
tamis dedup --count in > /dev/full
echo "status $?"
[ -c /dev/full ] && echo 'still a device'
