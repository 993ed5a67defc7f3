/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_SERVER_CLI_SERVER_H
#define TAMIS_CLI_SERVER_CLI_SERVER_H

#include <stdbool.h>

#include <tamis/experimental/redis.h>
#include <tamis/filter.h>

#include "cli/cli.h"
#include "cli/filter/cli_file.h"
#include "cli/input/cli_key.h"
#include "cli/process/cli_secret.h"

/* Filters on servers. A URI names such a filter wherever a command takes the name of a file. */

/* True if `name` is a URI: it contains "://" with at least one byte and no slash before it. */
bool cli_server_is_uri(const char *name);

/* Returns the filter's name in the URI, not decoded, with *size bytes; *size is 0 if the URI has no name. */
const char *cli_server_name(const char *uri, size_t *size);
/* Returns the size of a {N} at `pos` and sets *field to N. Returns 0 if there is none before `end`: other
 * braces are bytes of the name. */
size_t cli_server_field(const char *pos, const char *end, uint64_t *field);
/* True if `uri` is a URI with such fields in the filter's name, see cli_family.h. */
bool cli_server_is_family(const char *uri);
/* Refuses the URI of a family, for callers that need a single filter. */
tamis_status cli_server_refuse_family(const char *uri, tamis_error *err);

enum { CLI_SERVER_NAME = 3 * 1024 + 1 };
/* Percent-encodes the bytes of a name that have a meaning in a URI, blanks and control bytes. `to` has
 * CLI_SERVER_NAME bytes; a longer result is cut. Returns `to`. */
const char *cli_server_encode(char *to, const char *name, size_t size);
/* Decodes `size` bytes into `to`, which has as many, and returns the number of bytes written. A percent
 * sign without two hexadecimal digits stays as it is. */
size_t cli_server_decode(char *to, const char *from, size_t size);

/* Opens the filter of the URI. If `new_form` is not NULL and the URI has the parameters, a missing filter
 * is created for keys of that form. secret may be NULL. */
tamis_status cli_server_open(tamis_filter **filter, const char *uri, const cli_key_form *new_form,
                             const cli_secret *secret, tamis_error *err);

/* Returns the value of the parameter `name` in the URI, percent-encoded, with *size bytes; NULL if it is not
 * given. */
const char *cli_server_parameter(const char *uri, const char *name, size_t *size);
/* True if the layout in the URI stores the type of keys. */
bool cli_server_keeps_type(const char *uri);

/* Replaces *filter by a copy in memory if it is on a server. Leaves other filters as they are. */
tamis_status cli_server_pull(tamis_filter **filter, tamis_error *err);
/* Pushes a filter in memory to a server and replaces the filter there. Waits while another process changes
 * that filter. TAMIS_E_INTERRUPTED: a signal ended the wait. */
tamis_status cli_server_push(const tamis_filter *filter, const char *uri, cli_lock_wait wait,
                             tamis_error *err);
/* Like tamis_redis_resize_begin, but waits like cli_server_push. */
tamis_status cli_server_resize_begin(tamis_redis_resize **resize, const tamis_filter *like, const char *uri,
                                     cli_lock_wait wait, tamis_error *err);

/* Returns the format of a filter on a server, such as "redis-java"; NULL for another filter. The string is
 * static and changes with the next call. */
const char *cli_server_format(const tamis_filter *filter);

/* Enforces the capacity of a filter on a server (tamis_redis_filter_enforce_capacity). Does nothing if its
 * layout stores no capacity, or if the filter is not on a server. */
tamis_status cli_server_enforce_capacity(tamis_filter *filter, tamis_error *err);
/* True if the layout stores no capacity and most bits are set: the filter holds more keys than its size
 * suits. */
bool cli_server_is_dense(const tamis_filter_info *info, const tamis_plan *plan, const char *uri);
/* Prints a remark if such a filter is dense. */
void cli_server_report_dense(const tamis_filter *filter, const char *uri);

/* Refuses a URI where a file is required. `what` is the option or operand of the message, such as
 * "--filter". */
tamis_status cli_server_refuse(const char *name, const char *what, const char *remedy, tamis_error *err);

enum { CLI_SERVER_SHOWN = 400 };
/* Copies a name for messages: a URI without user and password. `to` has CLI_SERVER_SHOWN bytes. Returns
 * `to`. */
const char *cli_server_show(const char *name, char *to);

#endif
