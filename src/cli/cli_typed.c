/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli_typed.h"

#include <string.h>

/* Those before a text that is no key are answered; where that fails it is what is told. */
static tamis_status ask(void *context, const tamis_key *texts, size_t count, tamis_answer *answers,
                        size_t *done, tamis_error *err) {
    cli_typed *typed = context;
    tamis_error wrong = TAMIS_ERROR_INIT;
    const tamis_key *keys;
    tamis_status status = TAMIS_OK;
    size_t made;
    int code = cli_key_make(typed->maker, texts, count, typed->next, &keys, &made, &wrong);

    *done = 0;
    if (made > 0)
        status = typed->inner.ask(typed->inner.context, keys, made, answers, done, err);
    typed->next = cli_key_place_behind(typed->next, *done);
    if (status != TAMIS_OK || code == CLI_DONE)
        return status;
    *err = wrong;
    return wrong.status;
}

static tamis_key mark(void *context, size_t i) {
    const cli_typed *typed = context;

    return typed->inner.mark(typed->inner.context, i);
}

static bool enough(void *context) {
    const cli_typed *typed = context;

    return typed->inner.enough(typed->inner.context);
}

static void place(void *context, const tamis_stream_origin *origin) {
    cli_typed *typed = context;

    typed->next = (cli_key_place){origin->input, "record", origin->first, origin->of};
    if (typed->inner.place != NULL)
        typed->inner.place(typed->inner.context, origin);
}

static void expect(void *context, uint64_t more) {
    cli_typed *typed = context;

    typed->inner.expect(typed->inner.context, more);
}

int cli_typed_begin(cli_typed *typed, cli_key_form form, const tamis_stream_service *inner,
                    tamis_error *err) {
    memset(typed, 0, sizeof *typed);
    typed->inner = typed->service = *inner;
    typed->next = (cli_key_place){NULL, "record", 1, NULL};
    if (cli_key_is_plain(form))
        return CLI_DONE;
    typed->service.context = typed;
    typed->service.ask = ask;
    typed->service.hasher = NULL; /* of texts, which are not keys yet */
    typed->service.ask_hashes = NULL;
    typed->service.parts = NULL;
    typed->service.ask_part = NULL;
    typed->service.settle = NULL;
    typed->service.expect = inner->expect != NULL ? expect : NULL;
    typed->service.mark = inner->mark != NULL ? mark : NULL;
    typed->service.enough = inner->enough != NULL ? enough : NULL;
    typed->service.place = place;
    return cli_key_maker_create(&typed->maker, form, err);
}

void cli_typed_end(cli_typed *typed) {
    cli_key_maker_free(typed->maker);
}
