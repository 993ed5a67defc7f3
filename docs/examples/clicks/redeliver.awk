# SPDX-License-Identifier: BSD-2-Clause
# A front end whose producer retries: prints the clicks that it reads, each with its event_id as key in Kafka and a tab
# before it. It sends batches of 50, and sends three of ten again: as if the answer of the broker had been lost.
#
#     tamis gen clicks 100000 --seed 7 | awk -f redeliver.awk
BEGIN { FS = "\""; random = 7 }
{
    batch = batch $4 "\t" $0 "\n"
    if (NR % 50 == 0)
        send()
}
END { send() }

function send() {
    printf "%s", batch
    random = (random * 75 + 74) % 65537 # the same numbers in every awk
    if (random < 0.3 * 65537)
        printf "%s", batch
    batch = ""
}
