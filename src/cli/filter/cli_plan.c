/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/filter/cli_plan.h"

#include <tamis/plan.h>

tamis_status cli_plan_check_rate(const cli_value *kind, const cli_value *fpr, tamis_error *err) {
    if (!kind->given || kind->number != TAMIS_KIND_EXACT || !fpr->given)
        return TAMIS_OK;
    return cli_fail(err, "--kind exact: contradicts --fpr: exact accepts no rate; leave one of them out");
}

void cli_plan_name_memory(const cli_value *memory, tamis_error *err) {
    if (memory->given && err->status == TAMIS_E_MEMORY_LIMIT)
        cli_subject(err, "--memory '%.60s'", memory->text);
}
