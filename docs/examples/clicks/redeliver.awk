# SPDX-License-Identifier: BSD-2-Clause
# A front end whose producer retries: prints the clicks that it reads, each with its event_id as key in Kafka and a tab
# before it. It sends batches of 50, and sends three of ten again: as if the answer of the broker had been lost.
#
#     tamis gen clicks 100000 --seed 7 | awk -f redeliver.awk
BEGIN { FS = "\""; srand(7) }
{
    batch = batch $4 "\t" $0 "\n"
    if (NR % 50 == 0)
        send()
}
END { send() }

function send() {
    printf "%s", batch
    if (rand() < 0.3)
        printf "%s", batch
    batch = ""
}
