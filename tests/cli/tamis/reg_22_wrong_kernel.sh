# SPDX-License-Identifier: BSD-2-Clause
# Every command refuses a set of kernels that is not here, also one that computes nothing with it.
for arguments in 'plan --expect 1000' 'gen -n 3' help 'help plan' 'plan --help' --help --version 'info no-such' 'no-such'; do
    TAMIS_KERNEL=none-such tamis $arguments
    echo "$arguments: $?"
done
