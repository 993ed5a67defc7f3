/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_SERVER_CLI_SERVER_H
#define TAMIS_CLI_SERVER_CLI_SERVER_H

#include <stdbool.h>

#include <tamis/filter.h>
#include <tamis/redis.h>

#include "cli/cli.h"
#include "cli/filter/cli_file.h"
#include "cli/input/cli_key.h"
#include "cli/process/cli_secret.h"

/* Filters on servers, which are named by a URI wherever a file may be named. */

/* Whether a name is a URI: what stands before "://" has no slash. */
bool cli_server_is_uri(const char *name);

/* What stands in a URI where a filter is named, not decoded; of no filter *size is 0. */
const char *cli_server_name(const char *uri, size_t *size);
/* The size of a {N} that stands at `pos`, of field N, 0 where none does before `end`: other braces are bytes of the
 * name. */
size_t cli_server_field(const char *pos, const char *end, uint64_t *field);
/* Whether a name is a URI whose name of a filter has such fields: see cli_family.h. */
bool cli_server_is_family(const char *uri);
/* CLI_FAILED where it is, for who wants one filter. */
int cli_server_refuse_family(const char *uri, tamis_error *err);

enum { CLI_SERVER_NAME = 3 * 1024 + 1 };
/* Bytes of a name as a URI has them, those that mean something else there or are blank or control as %XX; no more than
 * there is room for. `to` has CLI_SERVER_NAME bytes, and is returned. */
const char *cli_server_encode(char *to, const char *name, size_t size);
/* The other way: how many bytes of `to`, which has room for `size`. A percent without two digits stands for itself. */
size_t cli_server_decode(char *to, const char *from, size_t size);

/* The filter of that URI. `made`: NULL, or it is made if it is not there and the URI says how, for keys of that form.
 * secret may be NULL. */
int cli_server_open(tamis_filter **filter, const char *uri, const cli_key_form *made,
                    const cli_secret *secret, tamis_error *err);

/* Its value in the URI, where it stands there: percent-encoded, `size` bytes; else NULL. */
const char *cli_server_parameter(const char *uri, const char *name, size_t *size);
/* Whether the layout it names keeps the type of keys. */
bool cli_server_keeps_type(const char *uri);

/* Puts the filter in the place of a remote one: the same in memory. Nothing for one that is not on a server. */
int cli_server_pull(tamis_filter **filter, tamis_error *err);
/* Puts a filter in memory there, in the place of what there is. Waits while another process changes the filter there.
 * CLI_DONE, CLI_FAILED or the exit status of a run that a signal ended. */
int cli_server_push(const tamis_filter *filter, const char *uri, cli_lock_wait wait, tamis_error *err);
/* As tamis_redis_resize_begin and _end; the former waits as cli_server_push does. */
int cli_server_resize_begin(tamis_redis_resize **resize, const tamis_filter *like, const char *uri,
                            cli_lock_wait wait, tamis_error *err);
int cli_server_resize_end(tamis_redis_resize *resize, const tamis_filter *filter, tamis_error *err);
/* The plan of one to be pushed there: what is wanted, but of a layout that is another program's what the URI says, which
 * is of kind classic. */
tamis_status cli_server_plan(tamis_plan *plan, const tamis_plan_options *plan_options, const char *uri,
                             tamis_error *err);

/* "redis-java": what the filter is kept as; NULL for one in a file. */
const char *cli_server_format(const tamis_filter *filter);

/* Refuses a URI where only a file will do: `what` names it, "--filter". */
int cli_server_refuse(const char *name, const char *what, const char *remedy, tamis_error *err);

enum { CLI_SERVER_SHOWN = 400 };
/* A name as others may see it: of a URI without user and password. `to` has CLI_SERVER_SHOWN bytes, and is returned. */
const char *cli_server_show(const char *name, char *to);

#endif
