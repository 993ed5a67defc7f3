/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli_want.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/plan.h>

#include "cli/cli_text.h"

int cli_want_check_rate(const cli_value *kind, const cli_value *fpr, tamis_error *err) {
    if (!kind->given || kind->number != TAMIS_KIND_EXACT || !fpr->given)
        return CLI_DONE;
    return cli_fail(err, "--kind exact: contradicts --fpr: exact accepts no rate; leave one of them out");
}

/* The first "N bytes" in `text`, and where it ends; NULL if there is none. */
static const char *find_bytes(const char *text, uint64_t *bytes) {
    for (const char *at = text; (at = strstr(at, " bytes")) != NULL; at++) {
        const char *digits = at;
        while (digits > text && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        if (digits == at)
            continue;
        *bytes = strtoull(digits, NULL, 10);
        return at + strlen(" bytes");
    }
    return NULL;
}

void cli_want_name_memory(const cli_value *memory, tamis_error *err) {
    static const char head[] = "memory ";
    char text[sizeof err->text], unit[CLI_TEXT_NUMBER];
    const char *why, *after;
    uint64_t bytes = 0;

    if (!memory->given || strncmp(err->text, head, strlen(head)) != 0)
        return;
    memcpy(text, err->text, sizeof text);
    why = strstr(text, ": ");
    if (why == NULL)
        return;
    why += 2;
    after = find_bytes(why, &bytes);
    if (after == NULL || bytes < 1024)
        snprintf(err->text, sizeof err->text, "--memory '%.60s': %s", memory->text, why);
    else
        snprintf(err->text, sizeof err->text, "--memory '%.60s': %.*s (%s)%s", memory->text,
                 (int)(after - why), why, cli_text_bytes(unit, sizeof unit, bytes), after);
}
