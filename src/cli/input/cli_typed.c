/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/input/cli_typed.h"

#include <string.h>

/* Answers the keys before the first bad text. If the service fails, its error is returned, else the error of
 * the text. */
static tamis_status query_keys(void *context, const tamis_stream_batch *texts, size_t *done,
                               tamis_error *err) {
    cli_typed *typed = context;
    tamis_stream_batch keys = *texts;
    tamis_error wrong = TAMIS_ERROR_INIT;
    tamis_status status = TAMIS_OK;
    tamis_status code =
        tamis_key_maker_make(typed->maker, texts->keys, texts->count, &keys.keys, &keys.count, &wrong);

    if (code != TAMIS_OK)
        code =
            cli_key_explain(cli_key_position_of(typed->next, keys.count), &texts->keys[keys.count], &wrong);
    *done = 0;
    if (keys.count > 0)
        status = typed->inner.query(typed->inner.context, &keys, done, err);
    typed->next = cli_key_position_after(typed->next, *done);
    if (status != TAMIS_OK || code == TAMIS_OK)
        return status;
    *err = wrong;
    return wrong.status;
}

static tamis_key get_mark(void *context, size_t i) {
    const cli_typed *typed = context;

    return typed->inner.mark(typed->inner.context, i);
}

static bool has_enough(void *context) {
    const cli_typed *typed = context;

    return typed->inner.enough(typed->inner.context);
}

static void set_typed_source(void *context, const tamis_stream_source *source) {
    cli_typed *typed = context;

    typed->next = (cli_key_position){.input = source->input,
                                     .word = "record",
                                     .number = source->first,
                                     .record_index = source->record_index};
    if (typed->inner.set_source)
        typed->inner.set_source(typed->inner.context, source);
}

static void set_size_hint(void *context, uint64_t more) {
    cli_typed *typed = context;

    typed->inner.expect(typed->inner.context, more);
}

tamis_status cli_typed_begin(cli_typed *typed, cli_key_form form, const tamis_stream_service *inner,
                             tamis_error *err) {
    memset(typed, 0, sizeof *typed);
    typed->inner = typed->service = *inner;
    typed->next = (cli_key_position){.input = NULL, .word = "record", .number = 1, .record_index = NULL};
    if (cli_key_is_plain(form))
        return TAMIS_OK;
    typed->service.context = typed;
    typed->service.query = query_keys;
    typed->service.hasher = NULL; /* the run would hash texts, which are not keys yet */
    typed->service.parts = NULL;
    typed->service.query_part = NULL;
    typed->service.finish_parts = NULL;
    typed->service.expect = inner->expect ? set_size_hint : NULL;
    typed->service.mark = inner->mark ? get_mark : NULL;
    typed->service.enough = inner->enough ? has_enough : NULL;
    typed->service.set_source = set_typed_source;
    return cli_key_maker_create(&typed->maker, form, err);
}

void cli_typed_end(cli_typed *typed) {
    tamis_key_maker_free(typed->maker);
}
