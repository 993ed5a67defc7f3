/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Mappings of a YAML document into structs. Each mapping has a table of its fields; one function reads all of
 * them.
 *
 * 1. The first error ends the reading. It has the line of the node, and says what to do.
 * 2. A field that is unknown or repeated is an error: a field that is ignored would be a wrong setting.
 */
#include "server/server_config_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"

enum { FILE_SIZE_MAX = 16 << 20, SHOWN = 80, FIELDS_MAX = 32 };

/* ---- memory and errors ---- */

void *tamis__config_alloc(server_config *config, size_t size) {
    const size_t head = (sizeof(struct config_block) + 15) / 16 * 16;
    struct config_block *block = tamis__alloc(&config->memory, head + size, 16);

    if (!block)
        return NULL;
    *block = (struct config_block){config->blocks, head + size};
    config->blocks = block;
    return (char *)block + head;
}

tamis_status tamis__config_fail_nomem(const config_reader *in, uint64_t size) {
    return tamis__fail_nomem(in->err, in->config->file, size);
}

static bool is_control(char c) {
    return (unsigned char)c < ' ' || c == '\x7f';
}

tamis_status tamis__config_fail(const config_reader *in, const yaml_node_t *node, const char *format, ...) {
    char why[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    for (char *c = why; *c; c++)
        if (is_control(*c)) /* a message is one line */
            *c = '?';
    return tamis__fail(in->err, TAMIS_E_INVALID, 0, "%s: line %zu: %s", in->config->file,
                       node->start_mark.line + 1, why);
}

/* Refuses tags such as !env or !!binary: they ask for a conversion that nobody does here. */
static tamis_status check_tag(const config_reader *in, const yaml_node_t *node, const char *name) {
    static const char standard[] = "tag:yaml.org,2002:";
    static const char *const types[] = {"str", "int", "float", "map", "seq", NULL};
    const char *tag = (const char *)node->tag;
    const bool is_standard = tag && strncmp(tag, standard, sizeof standard - 1) == 0;

    for (size_t i = 0; is_standard && types[i]; i++)
        if (strcmp(tag + sizeof standard - 1, types[i]) == 0)
            return TAMIS_OK;
    return tag ? tamis__config_fail(in, node, "%s: the tag %.*s is not supported; leave it out", name, SHOWN,
                                    tag)
               : TAMIS_OK;
}

/* True for a value that YAML reads as null. In quotes these are texts. */
static bool is_null(const yaml_node_t *node) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    const char *text = (const char *)node->data.scalar.value;
    bool is_listed = false;

    for (size_t i = 0; nulls[i]; i++)
        is_listed |= strcmp(text, nulls[i]) == 0;
    return is_listed && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

/* Copies the text of a scalar, with a NUL behind it. */
static tamis_status copy_scalar(const config_reader *in, const yaml_node_t *node, const char *name,
                                char **text) {
    if (node->type != YAML_SCALAR_NODE)
        return tamis__config_fail(in, node, "%s: expected one value, not a list or fields; give one value",
                                  name);
    const size_t size = node->data.scalar.length;
    const tamis_status status = check_tag(in, node, name);
    if (status != TAMIS_OK)
        return status;
    if (size == 0 || is_null(node))
        return tamis__config_fail(in, node, "%s: has no value; give one, or leave %s out", name, name);
    if (memchr(node->data.scalar.value, '\0', size))
        return tamis__config_fail(in, node, "%s: has a byte 0; leave it out", name);
    char *copy = tamis__config_alloc(in->config, size + 1);
    if (!copy)
        return tamis__config_fail_nomem(in, size);
    memcpy(copy, node->data.scalar.value, size);
    *text = copy;
    return TAMIS_OK;
}

/* ---- files ---- */

/* Returns a name that is relative to the configuration file, or NULL if memory is short. */
static const char *resolve_path(server_config *config, const char *name) {
    const char *slash = strrchr(config->file, '/');
    const size_t directory = slash && name[0] != '/' ? (size_t)(slash + 1 - config->file) : 0;
    char *path = tamis__config_alloc(config, directory + strlen(name) + 1);

    if (!path)
        return NULL;
    memcpy(path, config->file, directory);
    strcpy(path + directory, name);
    return path;
}

int tamis__config_read_file(server_config *config, const char *path, char **text, size_t *size) {
    struct stat st;
    const int fd = tamis__open(path, O_RDONLY | O_CLOEXEC, 0);
    int failed = fd < 0 || tamis__sys.fstat(fd, &st) != 0 ? errno : 0;
    size_t used = 0;
    char *content = NULL;

    if (!failed && (st.st_size > FILE_SIZE_MAX || !S_ISREG(st.st_mode)))
        failed = S_ISDIR(st.st_mode) ? EISDIR : st.st_size > FILE_SIZE_MAX ? EFBIG : 0;
    const size_t capacity = !failed && S_ISREG(st.st_mode) ? (size_t)st.st_size : (size_t)FILE_SIZE_MAX + 1;
    if (!failed && !(content = tamis__config_alloc(config, capacity + 1)))
        failed = ENOMEM;
    while (!failed && used < capacity) {
        const ssize_t count = tamis__sys.read(fd, content + used, capacity - used);
        if (count == 0)
            break;
        if (count > 0)
            used += (size_t)count;
        else if (errno != EINTR)
            failed = errno;
    }
    if (fd >= 0)
        tamis__sys.close(fd);
    if (!failed && used > FILE_SIZE_MAX) /* of a pipe */
        failed = EFBIG;
    *text = content;
    *size = used;
    return failed;
}

static tamis_status read_named_file(const config_reader *in, const yaml_node_t *node, const char *name,
                                    char **text) {
    const char *path = resolve_path(in->config, *text);
    size_t size;

    if (!path)
        return tamis__config_fail_nomem(in, strlen(*text));
    const int failed = tamis__config_read_file(in->config, path, text, &size);
    if (!failed)
        return strlen(*text) == size
                   ? TAMIS_OK
                   : tamis__config_fail(in, node, "%s: %.200s has a byte 0; give a text in UTF-8", name,
                                        path);
    tamis__config_fail(in, node, "%s: %.200s: %s; give a file that can be read", name, path,
                       strerror(failed));
    if (in->err)
        in->err->status = failed == ENOMEM ? TAMIS_E_NOMEM : TAMIS_E_IO;
    return failed == ENOMEM ? TAMIS_E_NOMEM : TAMIS_E_IO;
}

/* Shows the bounds in the form of the field. */
static tamis_status fail_range(const config_reader *in, const yaml_node_t *node, const config_field *spec,
                               const char *text) {
    char bounds[2][32];

    for (int i = 0; i < 2; i++) {
        const double bound = i ? spec->max : spec->min;
        if (spec->kind == FIELD_TIME)
            tamis__config_show_time(bounds[i], sizeof bounds[i], bound);
        else if (spec->kind == FIELD_SIZE)
            tamis__config_show_size(bounds[i], sizeof bounds[i], bound);
        else
            snprintf(bounds[i], sizeof bounds[i], "%.10g", bound);
    }
    return tamis__config_fail(in, node, "%s: '%.*s' is not between %s and %s; give a value between them",
                              spec->name, SHOWN, text, bounds[0], bounds[1]);
}

static tamis_status read_number(const config_reader *in, const yaml_node_t *node, const config_field *spec,
                                const char *text, void *to) {
    double number = 0;
    bool is_valid;

    if (spec->kind == FIELD_TIME)
        is_valid = tamis__config_parse_time(text, &number);
    else if (spec->kind == FIELD_SIZE)
        is_valid = tamis__config_parse_size(text, &number);
    else
        is_valid = tamis__config_parse_real(text, &number);
    if (spec->kind == FIELD_COUNT)
        is_valid = is_valid && number == floor(number);
    if (!is_valid)
        return tamis__config_fail(in, node, "%s: '%.*s' is not %s", spec->name, SHOWN, text,
                                  spec->kind == FIELD_TIME   ? "a time; give one such as 500ms, 2s or 10m"
                                  : spec->kind == FIELD_SIZE ? "a size; give one such as 64MiB"
                                                             : "a number; give one");
    if (number < spec->min || number > spec->max)
        return fail_range(in, node, spec, text);
    if (spec->kind == FIELD_SIZE)
        *(uint64_t *)to = (uint64_t)number;
    else if (spec->kind == FIELD_REAL)
        *(double *)to = number;
    else
        *(uint32_t *)to = (uint32_t)number;
    return TAMIS_OK;
}

static tamis_status read_choice(const config_reader *in, const yaml_node_t *node, const config_field *spec,
                                const char *text, uint32_t *to) {
    for (uint32_t i = 0; spec->choices[i]; i++) {
        if (strcmp(spec->choices[i], text) != 0)
            continue;
        *to = i;
        return TAMIS_OK;
    }
    return tamis__config_fail(in, node, "%s: '%.*s' is not known; give %s or %s", spec->name, SHOWN, text,
                              spec->choices[0], spec->choices[1]);
}

/* True for URIs without a path, and with that of a database or of a master. The library checks the rest. */
static bool is_redis_uri(const char *text) {
    const char *host = strstr(text, "://");
    const bool is_plain = strncmp(text, "redis:", 6) == 0 || strncmp(text, "rediss:", 7) == 0;

    if (!host || !is_plain)
        return host;
    const char *path = host + 3 + strcspn(host + 3, "/?");
    if (*path == '/')
        path += 1 + strspn(path + 1, "0123456789");
    return *path == '\0' || *path == '?';
}

static tamis_status read_text(const config_reader *in, const yaml_node_t *node, const config_field *spec,
                              char *text, void *to) {
    const char **result = to;
    tamis_status status;

    switch (spec->kind) {
    case FIELD_ADDRESS: {
        server_address *address = to;
        if (!tamis__config_parse_address(text, address))
            return tamis__config_fail(
                in, node, "%s: not an address; give HOST:PORT, as 127.0.0.1:6390, or unix:PATH", spec->name);
        if (address->path && !(address->path = resolve_path(in->config, address->path)))
            return tamis__config_fail_nomem(in, strlen(text));
        return copy_scalar(in, node, spec->name, (char **)&address->text);
    }
    case FIELD_SQLITE:
        if (strcmp(text, "memory") == 0 || strcmp(text, ":memory:") == 0)
            *result = ":memory:";
        else
            *result = strncmp(text, "file:", 5) == 0 ? text : resolve_path(in->config, text);
        return *result ? TAMIS_OK : tamis__config_fail_nomem(in, strlen(text));
    case FIELD_PATH:
        *result = resolve_path(in->config, text);
        return *result ? TAMIS_OK : tamis__config_fail_nomem(in, strlen(text));
    case FIELD_CONTENT:
    case FIELD_PASSWORD:
        status = read_named_file(in, node, spec->name, &text);
        if (status != TAMIS_OK)
            return status;
        if (spec->kind == FIELD_PASSWORD)
            text[strcspn(text, "\r\n")] = '\0';
        if (!*text)
            return tamis__config_fail(in, node, "%s: the file is empty; give another", spec->name);
        *result = text;
        return TAMIS_OK;
    case FIELD_REDIS: /* not in the message: it may have a password */
        *result = text;
        return is_redis_uri(text)
                   ? TAMIS_OK
                   : tamis__config_fail(in, node,
                                        "%s: not a URI of a server; give redis://HOST:PORT, or rediss:// for "
                                        "TLS",
                                        spec->name);
    case FIELD_CHOICE:
        return read_choice(in, node, spec, text, to);
    default:
        *result = text;
        return TAMIS_OK;
    }
}

static tamis_status read_field(const config_reader *in, const yaml_node_t *node, const config_field *spec,
                               void *to) {
    char *text = NULL;

    if (spec->kind == FIELD_NESTED)
        return spec->read(in, node, to);
    const tamis_status status = copy_scalar(in, node, spec->name, &text);
    if (status != TAMIS_OK)
        return status;
    if (spec->kind == FIELD_TIME || spec->kind == FIELD_SIZE || spec->kind == FIELD_COUNT ||
        spec->kind == FIELD_REAL)
        return read_number(in, node, spec, text, to);
    return read_text(in, node, spec, text, to);
}

static tamis_status fail_unknown(const config_reader *in, const yaml_node_t *node, const config_field *fields,
                                 const char *name) {
    const char *names[FIELDS_MAX + 1] = {NULL};

    for (size_t i = 0; fields[i].name; i++)
        names[i] = fields[i].name;
    const char *similar = tamis__config_similar(name, names);
    if (similar)
        return tamis__config_fail(in, node, "unknown field '%.*s'; did you mean %s?", SHOWN, name, similar);
    return tamis__config_fail(in, node, "unknown field '%.*s'; leave it out", SHOWN, name);
}

tamis_status tamis__config_read_mapping(const config_reader *in, const yaml_node_t *node, const char *what,
                                        const config_field *fields, void *to) {
    uint32_t present = 0;
    tamis_status status = check_tag(in, node, what);

    if (status != TAMIS_OK)
        return status;
    if (node->type != YAML_MAPPING_NODE)
        return tamis__config_fail(in, node, "%s: expected fields; give them as NAME: VALUE, each on its line",
                                  what);
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top;
         pair++) {
        const yaml_node_t *key = yaml_document_get_node(in->document, pair->key);
        const yaml_node_t *value = yaml_document_get_node(in->document, pair->value);
        char *name = NULL;
        size_t i = 0;
        if (key->type != YAML_SCALAR_NODE || key->data.scalar.length == 0 || is_null(key))
            return tamis__config_fail(in, key, "%s: a field has no name; give fields as NAME: VALUE", what);
        status = copy_scalar(in, key, what, &name);
        if (status != TAMIS_OK)
            return status;
        while (fields[i].name && strcmp(fields[i].name, name) != 0)
            i++;
        if (!fields[i].name)
            return fail_unknown(in, key, fields, name);
        if (present & 1u << i)
            return tamis__config_fail(in, key, "%s: given twice; remove one", name);
        present |= 1u << i;
        status = read_field(in, value, &fields[i], (char *)to + fields[i].offset);
        if (status != TAMIS_OK)
            return status;
    }
    for (size_t i = 0; fields[i].name; i++)
        if (fields[i].is_required && !(present & 1u << i))
            return tamis__config_fail(in, node, "%s: needs %s; add it", what, fields[i].name);
    return TAMIS_OK;
}
