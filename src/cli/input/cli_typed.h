/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_INPUT_CLI_TYPED_H
#define TAMIS_CLI_INPUT_CLI_TYPED_H

#include <tamis/experimental/stream.h>

#include "cli/input/cli_key.h"

/*
 * A service that makes keys from texts, for an inner service that accepts keys only:
 *
 *     runner --texts--> typed: cli_key_make --keys--> inner service --answers--> runner
 *
 * The runner keeps the texts and writes them. Plain keys go to the inner service directly.
 */
typedef struct cli_typed {
    tamis_stream_service service; /* service to run: this one, or a copy of `inner` for plain keys */
    tamis_stream_service inner;   /* service that answers keys */
    tamis_key_maker *maker;       /* maker of keys; NULL: keys are plain */
    cli_key_position next;        /* position of the next key; before a run "record" 1 */
} cli_typed;

/* Copies `inner` and borrows its context. *typed must not move until cli_typed_end, which is allowed after a
 * failure too. */
tamis_status cli_typed_begin(cli_typed *typed, cli_key_form form, const tamis_stream_service *inner,
                             tamis_error *err);
void cli_typed_end(cli_typed *typed);

#endif
