# SPDX-License-Identifier: BSD-2-Clause
# Text that does not fit on the disk is an error too.
for arguments in --help --version 'help dedup' 'dedup --help'; do
    # shellcheck disable=SC2086
    tamis $arguments > /dev/full
    echo "status $?"
done
