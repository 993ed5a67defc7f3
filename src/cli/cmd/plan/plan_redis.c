/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/plan/plan_modes.h"

#include <inttypes.h>

#include <tamis/experimental/redis.h>

#include "cli/cmd/plan/plan_fields.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"

tamis_status plan_redis_make(plan_redis *plans, const tamis_plan_options *plan_options, tamis_error *err) {
    tamis_plan_options blocked = *plan_options;

    blocked.kind = TAMIS_KIND_BLOCKED;
    if (blocked.scheme == TAMIS_SCHEME_AUTO)
        blocked.scheme = TAMIS_SCHEME_XXH3;
    plans->smallest = plans->chosen = (tamis_plan)TAMIS_PLAN_INIT;
    const tamis_status status = tamis_redis_plan_make(&plans->chosen, &blocked, err);
    blocked.probes = 0;
    return status == TAMIS_OK ? tamis_plan_make(&plans->smallest, &blocked, err) : status;
}

static void print_plan(FILE *out, const char *name, const tamis_plan *plan) {
    char bytes[CLI_TEXT_NUMBER], rate[CLI_TEXT_NUMBER];

    fprintf(out, "  %-12s %12.1f %10s %8" PRIu32 " %16.1f   %s\n", name, plan->bits_per_key,
            cli_text_bytes(bytes, sizeof bytes, plan->memory), plan->probes,
            tamis_redis_add_cost(plan->probes), cli_text_rate(rate, sizeof rate, plan->fpr_predicted));
}

void plan_redis_text(FILE *out, const plan_redis *plans) {
    char count[CLI_TEXT_NUMBER], rate[CLI_TEXT_NUMBER];

    fprintf(out, "A filter in a Redis, layout tamis: %s records, rate %s\n\n",
            cli_text_count(count, sizeof count, plans->chosen.capacity),
            cli_text_rate(rate, sizeof rate, plans->chosen.fpr));
    fprintf(out, "  %-12s %12s %10s %8s %16s   %s\n", "", "bits a record", "memory", "probes",
            "server, us/add", "rate when full");
    print_plan(out, "least bits", &plans->smallest);
    print_plan(out, "chosen", &plans->chosen);
    fprintf(out, "\nchosen: %s\n", plans->chosen.reason);
}

static json_t *object_of(const tamis_plan *plan) {
    json_t *object = json_object();

    cli_json_number(object, &plan_fields.bits_per_key, plan->bits_per_key);
    cli_json_integer(object, &plan_fields.memory, plan->memory);
    cli_json_integer(object, &plan_fields.bits, plan->bits);
    cli_json_integer(object, &plan_fields.probes, plan->probes);
    cli_json_number(object, &plan_fields.server_us, tamis_redis_add_cost(plan->probes));
    cli_json_number(object, &plan_fields.fpr_predicted, plan->fpr_predicted);
    return object;
}

tamis_status plan_redis_json(FILE *out, const plan_redis *plans, tamis_error *err) {
    json_t *object = json_object();

    cli_json_integer(object, &plan_fields.expect, plans->chosen.capacity);
    cli_json_number(object, &plan_fields.fpr, plans->chosen.fpr);
    cli_json_string(object, &plan_fields.reason, plans->chosen.reason);
    cli_json_set(object, &plan_fields.min_bits, object_of(&plans->smallest));
    cli_json_set(object, &plan_fields.in_redis, object_of(&plans->chosen));
    return cli_json_write(object, out, 0, "plan", err);
}
