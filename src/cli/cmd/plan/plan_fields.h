/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_FIELDS_H
#define TAMIS_CLI_CMD_PLAN_PLAN_FIELDS_H

#include "cli/cli.h"

/* What `tamis plan` prints. */
extern const struct plan_fields {
    cli_field given, derived, expect, fpr, memory_limit, bits_per_key_limit, probes_given, chosen, reason,
        grows_to, hint, kinds, kind, is_chosen, possible, fits, why_not, capacity, bits_per_key, memory, bits,
        probes, slot_bits, lines, fill, lines_touched, fpr_predicted, window, step, lateness, partitions,
        hosts, partition_expect, partition_memory, host_partitions, host_memory, state_keys, state_bytes,
        segment_bytes, restore_seconds, restore_rate, min_bits, in_redis, server_us, rates, fpr_published,
        false_positives_published, false_positives, sizes, bits_published, memory_published, rules, rule,
        published, exact, measured, scheme, keys, added, queries, hits, fpr_measured, fpr_low, fpr_high,
        verdict;
} plan_fields;

#endif
