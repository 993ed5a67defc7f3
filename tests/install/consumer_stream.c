/* SPDX-License-Identifier: BSD-2-Clause */
/* Standard input without its duplicates, by the installed stream library. */
#include <stdio.h>

#include <tamis/stream.h>
#include <tamis/tamis.h>

int main(void) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_want want = TAMIS_WANT_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    tamis_dedup *session = NULL;

    options.output = "-";
    if (tamis_plan_make(&plan, &want, &err) != TAMIS_OK ||
        tamis_filter_create(&filter, &plan, NULL, &err) != TAMIS_OK ||
        tamis_dedup_open(&session, filter, NULL, &err) != TAMIS_OK ||
        tamis_stream_dedup(session, &options, NULL, &err) != TAMIS_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    tamis_dedup_close(session);
    tamis_filter_free(filter);
    return 0;
}
