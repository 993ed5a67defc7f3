/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_SERVER_CLI_FAMILY_H
#define TAMIS_CLI_SERVER_CLI_FAMILY_H

#include <tamis/experimental/stream.h>

#include "cli/cli.h"
#include "cli/input/cli_key.h"
#include "cli/input/cli_stream.h"
#include "cli/process/cli_secret.h"

/*
 * A family of filters on a server. Its URI is a template: {N} in the name of the filter is field N of the
 * record.
 *
 *     redis://host/topic_read:{1}:{2}?layout=java&...
 *     8839540 <tab> 20190609 <tab> 76930242        key 76930242 of filter topic_read:8839540:20190609
 *
 * The key consists of the other fields of the record, with the delimiters between them, or is set by --key.
 */
typedef struct cli_family cli_family;

typedef struct cli_family_setup {
    const char *uri;            /* URI of a family, see cli_server_is_family */
    const cli_extract *extract; /* key options; only used while opening */
    bool adds;                  /* true: keys are added; false: looked up */
    bool trace;                 /* see cli_trace.h */
    cli_key_form form;          /* form of the keys */
    const cli_secret *secret;   /* secret of the hash; NULL: none */
} cli_family_setup;

/* Opens a family. The caller owns *family until cli_family_close, which accepts NULL. */
tamis_status cli_family_open(cli_family **family, const cli_family_setup *setup, tamis_error *err);
void cli_family_close(cli_family *family);

/* Removes from the options of a run what the family does itself: types of keys and, without --key, the
 * extractor. */
void cli_family_prepare_stream(cli_stream *records);
/* Functions of a tamis_stream_service, with the family as context. A record with too few fields, or
 * without a valid name or key, ends the run after the records before it are answered. */
tamis_status cli_family_query(void *family, const tamis_stream_batch *batch, size_t *done, tamis_error *err);
void cli_family_set_source(void *family, const tamis_stream_source *source);

/* Returns the number of keys that may be in their filters although no answer of their add was returned. */
uint64_t cli_family_unconfirmed(const cli_family *family);

/* Prints a remark about members that hold more keys than planned. Checks only the members with the most
 * adds. */
void cli_family_report_overfull(const cli_family *family, const char *uri);

#endif
