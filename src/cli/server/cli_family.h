/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_SERVER_CLI_FAMILY_H
#define TAMIS_CLI_SERVER_CLI_FAMILY_H

#include <tamis/stream.h>

#include "cli/cli.h"
#include "cli/input/cli_key.h"
#include "cli/input/cli_stream.h"
#include "cli/process/cli_secret.h"

/*
 * A family of filters on a server, whose URI takes parts of a filter's name from fields of the record:
 *
 *     redis://host/topic_read:{1}:{2}?layout=java&...
 *     8839540 <tab> 20190609 <tab> 76930242        key 76930242 of filter topic_read:8839540:20190609
 *
 * The key is what the name leaves of the record: its other fields, with the delimiters between them; or what --key says.
 */
typedef struct cli_family cli_family;

typedef struct cli_family_setup {
    const char *uri;            /* cli_server_is_family; as long as the family */
    const cli_extract *extract; /* not needed afterwards */
    bool adds;                  /* else it is asked */
    bool trace;                 /* see cli_trace.h */
    cli_key_form form;          /* of the keys */
    const cli_secret *secret;   /* NULL: none */
} cli_family_setup;

/* *family is the caller's until freed (NULL is fine there). */
int cli_family_open(cli_family **family, const cli_family_setup *setup, tamis_error *err);
void cli_family_free(cli_family *family);

/* Leaves to a run of records what a family does not do itself: it makes keys of parts of them. */
void cli_family_prepare_stream(cli_stream *records);
/* As the functions of a tamis_stream_service, with the family as context. A record with too few fields, or whose name
 * or key is none, ends the run when those before it are answered. */
tamis_status cli_family_query(void *family, const tamis_key *keys, size_t count, tamis_answer *answers,
                              size_t *done, tamis_error *err);
void cli_family_set_source(void *family, const tamis_stream_source *source);

/* A remark on members that hold more than they were made for; of the ones that got most of what was added. */
void cli_family_report_overfull(const cli_family *family, const char *uri);

#endif
