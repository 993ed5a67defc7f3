/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_INPUT_CLI_TYPED_H
#define TAMIS_CLI_INPUT_CLI_TYPED_H

#include <tamis/stream.h>

#include "cli/input/cli_key.h"

/*
 * Stands between the records of a stream and a service that knows keys only:
 *
 *     runner --texts--> typed: cli_key_make --keys--> inner service --answers--> runner
 *
 * The runner keeps the texts, and writes these. Plain keys do not come by here at all.
 */
typedef struct cli_typed {
    tamis_stream_service service; /* to be run: this one, or `inner` itself */
    tamis_stream_service inner;
    cli_key_maker *maker;  /* NULL: keys are plain */
    cli_key_position next; /* of the key that is asked next; before a run "record" 1 */
} cli_typed;

/* `inner` is copied, its context borrowed; the typed must stay where it is until cli_typed_end, which is fine after a
 * failure too. CLI_DONE or CLI_FAILED. */
int cli_typed_begin(cli_typed *typed, cli_key_form form, const tamis_stream_service *inner, tamis_error *err);
void cli_typed_end(cli_typed *typed);

#endif
