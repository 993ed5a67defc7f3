# SPDX-License-Identifier: BSD-2-Clause
# The plan of a window, with and without a number of records; what is not for windows is refused.
tamis plan --window 24h --expect 10M
tamis plan --window 30m --step 5m --lateness 10m --fpr 1e-6
tamis plan --window 24h --step 1h --expect 1M --json
tamis plan --window 1h --step 2h
tamis plan --window 24h --step 1ms
tamis plan --window 24h --memory 1G
tamis plan --window 24h --table
tamis plan --window 24h --kind exact
tamis plan --step 1h
tamis plan --window soon
