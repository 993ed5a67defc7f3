# SPDX-License-Identifier: BSD-2-Clause
# state show has the records of an earlier run that were delivered again.
printf '%s\n' 'p0 0 a' 'p0 1 b' > consumed
for run in 1 2 3; do
    cat consumed | tamis dedup --state seen --source field:1 --position field:2 --key field:3 --delimiter space \
        --exactly-once -o once
done
tamis state show seen | sed -n '/^run/s/: - to.*//p'
tamis state show --json seen | grep -o '"redelivered": [0-9]*'
