/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVER_SERVER_CONFIG_READER_H
#define TAMIS_SERVER_SERVER_CONFIG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

#include "server/server_config.h"

/* Mappings of a YAML document into structs, by a table of fields for each. For server_config.c. */

typedef struct config_reader {
    server_config *config; /* owns the memory of the values */
    yaml_document_t *document;
    tamis_error *err;
} config_reader;

typedef enum config_field_kind {
    FIELD_TEXT,     /* const char * */
    FIELD_PATH,     /* const char *: a name that is relative to the configuration file */
    FIELD_CONTENT,  /* const char *: the content of the file that is named */
    FIELD_PASSWORD, /* const char *: the first line of the file that is named */
    FIELD_SQLITE,   /* const char *: a path, or the word memory */
    FIELD_REDIS,    /* const char *: the URI of a server */
    FIELD_TIME,     /* uint32_t, milliseconds */
    FIELD_SIZE,     /* uint64_t */
    FIELD_COUNT,    /* uint32_t */
    FIELD_REAL,     /* double */
    FIELD_CHOICE,   /* uint32_t: index into `choices` */
    FIELD_ADDRESS,  /* server_address */
    FIELD_NESTED    /* filled by the function `read` */
} config_field_kind;

typedef struct config_field {
    const char *name;
    config_field_kind kind;
    size_t offset;
    double min, max; /* of numbers */
    const char *const *choices;
    tamis_status (*read)(const config_reader *in, const yaml_node_t *node, void *to);
    bool is_required;
} config_field;

/* Reads a mapping into the struct `to`. `fields` ends with one without a name. `what` names the mapping in
 * messages. A field that is unknown, repeated or missing is an error. */
tamis_status tamis__config_read_mapping(const config_reader *in, const yaml_node_t *node, const char *what,
                                        const config_field *fields, void *to);

/* Fills the error with TAMIS_E_INVALID and "FILE: line N: message". */
tamis_status tamis__config_fail(const config_reader *in, const yaml_node_t *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
tamis_status tamis__config_fail_nomem(const config_reader *in, uint64_t size);

/* Returns zeroed memory that is freed with the configuration, or NULL. */
void *tamis__config_alloc(server_config *config, size_t size);
/* Reads a file whole, with a NUL behind it. Returns 0 or an errno. EFBIG: it is too large. */
int tamis__config_read_file(server_config *config, const char *path, char **text, size_t *size);

#endif
