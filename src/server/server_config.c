/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The configuration file: the table of each mapping, and what its fields require of each other.
 *
 *     root_fields ---- database_fields
 *          |---------- tls_fields
 *          '---------- keyspace_fields (a sequence) ---- database_fields
 *
 * All memory of a configuration is in its list of blocks.
 */
#include "server/server_config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include <tamis/hash.h>

#include "base/memory.h"
#include "server/server_config_reader.h"
#include "service/guard/guard_scan_time.h"

enum { SHOWN = 80, DEPTH_MAX = 16 };

/* ---- the mappings ---- */

#define AT(type, member)  .offset = offsetof(type, member)
#define NUMBERS(from, to) .min = (from), .max = (to)
#define TIME_MAX          (49 * 86400000.) /* whole days below 2^32 ms */

static const config_field database_fields[] = {
    {"sqlite", FIELD_SQLITE, AT(server_database, sqlite)},
    {"postgres", FIELD_TEXT, AT(server_database, postgres)},
    {"init", FIELD_CONTENT, AT(server_database, init)},
    {.name = NULL},
};

static tamis_status read_database(const config_reader *in, const yaml_node_t *node, void *to) {
    server_database *database = to;
    const tamis_status status = tamis__config_read_mapping(in, node, "database", database_fields, database);

    if (status == TAMIS_OK && !database->sqlite == !database->postgres)
        return tamis__config_fail(in, node, "database: needs either sqlite or postgres; give one of the two");
    return status;
}

static const config_field tls_fields[] = {
    {"cert", FIELD_PATH, AT(server_tls_files, cert), .is_required = true},
    {"key", FIELD_PATH, AT(server_tls_files, key), .is_required = true},
    {"cacert", FIELD_PATH, AT(server_tls_files, cacert)},
    {.name = NULL},
};

static tamis_status read_tls(const config_reader *in, const yaml_node_t *node, void *to) {
    return tamis__config_read_mapping(in, node, "tls", tls_fields, to);
}

static const char *const values[] = {"text", "json", NULL};
static const char *const put_kinds[] = {"shared", "none", NULL};
static const char *const modes[] = {[TAMIS_GUARD_OPEN] = "open", [TAMIS_GUARD_CLOSED] = "closed", NULL};

#define TIMES NUMBERS(1, TIME_MAX)
static const config_field keyspace_fields[] = {
    {"keys", FIELD_TEXT, AT(server_keyspace, pattern), .is_required = true},
    {"database", FIELD_NESTED, AT(server_keyspace, database), .read = read_database},
    {"row", FIELD_TEXT, AT(server_keyspace, row), .is_required = true},
    {"all_keys", FIELD_TEXT, AT(server_keyspace, all_keys)},
    {"new_keys", FIELD_TEXT, AT(server_keyspace, new_keys)},
    {"notify", FIELD_TEXT, AT(server_keyspace, notify)},
    {"filter_file", FIELD_PATH, AT(server_keyspace, filter_file)},
    {"keys_file", FIELD_PATH, AT(server_keyspace, keys_file)},
    {"redis_filter", FIELD_TEXT, AT(server_keyspace, redis_filter)},
    {"secret_file", FIELD_PATH, AT(server_keyspace, secret_file)},
    {"keep_news", FIELD_TIME, AT(server_keyspace, news_ms), TIMES},
    {"overlap", FIELD_REAL, AT(server_keyspace, overlap), NUMBERS(0, 1e18)},
    {"value", FIELD_CHOICE, AT(server_keyspace, value), .choices = values},
    {"prefix", FIELD_TEXT, AT(server_keyspace, redis_prefix)},
    {"life", FIELD_TIME, AT(server_keyspace, life_ms), TIMES},
    {"null_life", FIELD_TIME, AT(server_keyspace, null_life_ms), TIMES},
    {"cache", FIELD_SIZE, AT(server_keyspace, cache_bytes), NUMBERS(0, 0x1p50)},
    {"cache_life", FIELD_TIME, AT(server_keyspace, cache_life_ms), TIMES},
    {"without_filter", FIELD_CHOICE, AT(server_keyspace, without_filter), .choices = modes},
    {"puts", FIELD_CHOICE, AT(server_keyspace, puts), .choices = put_kinds},
    {"fpr", FIELD_REAL, AT(server_keyspace, fpr), NUMBERS(1e-12, 0.5)},
    {"sessions", FIELD_COUNT, AT(server_keyspace, sessions), NUMBERS(1, 1000)},
    {"waiting_max", FIELD_COUNT, AT(server_keyspace, keys_max), NUMBERS(1, 1e7)},
    {"timeout", FIELD_TIME, AT(server_keyspace, timeout_ms), TIMES},
    {"lease", FIELD_TIME, AT(server_keyspace, lease_ms), TIMES},
    {"mark", FIELD_TIME, AT(server_keyspace, mark_ms), TIMES},
    {"rescan", FIELD_TIME, AT(server_keyspace, scan_ms), TIMES},
    {"rescan_at", FIELD_TEXT, AT(server_keyspace, scan_at)},
    {"rescan_new", FIELD_TIME, AT(server_keyspace, scan_new_ms), TIMES},
    {.name = NULL},
};

/* Sets the prefix of keys to the pattern without its asterisk. */
static tamis_status set_prefix(const config_reader *in, const yaml_node_t *node, server_keyspace *keyspace) {
    const size_t size = strlen(keyspace->pattern);
    const char *asterisk = strchr(keyspace->pattern, '*');
    char *prefix = tamis__config_alloc(in->config, size + 1);

    if (!prefix)
        return tamis__config_fail_nomem(in, size);
    for (const char *c = keyspace->pattern; *c; c++)
        if ((unsigned char)*c < ' ' || *c == '\x7f')
            return tamis__config_fail(in, node, "keys: '%.*s' has a control character; leave it out", SHOWN,
                                      keyspace->pattern);
    if (asterisk && asterisk[1])
        return tamis__config_fail(in, node,
                                  "keys: '%.*s' has * before its end; end the pattern with the only *", SHOWN,
                                  keyspace->pattern);
    keyspace->is_exact = !asterisk;
    keyspace->prefix_size = size - !!asterisk;
    keyspace->prefix = memcpy(prefix, keyspace->pattern, keyspace->prefix_size);
    return TAMIS_OK;
}

/* Sets the default of `prefix`, "tamis:" and the keyspace's prefix. Refuses braces. */
static tamis_status set_redis_prefix(const config_reader *in, const yaml_node_t *node,
                                     server_keyspace *keyspace) {
    if (!keyspace->redis_prefix) {
        char *prefix = tamis__config_alloc(in->config, sizeof "tamis:" + keyspace->prefix_size);
        if (!prefix)
            return tamis__config_fail_nomem(in, keyspace->prefix_size);
        sprintf(prefix, "tamis:%s", keyspace->prefix);
        keyspace->redis_prefix = prefix;
    }
    if (strpbrk(keyspace->redis_prefix, "{}"))
        return tamis__config_fail(in, node, "prefix: '%.*s' has braces; give a prefix without them", SHOWN,
                                  keyspace->redis_prefix);
    return TAMIS_OK;
}

static bool has_file(const server_keyspace *keyspace) {
    return keyspace->filter_file || keyspace->keys_file;
}

/* Reads the secret of the filter in a file or in Redis. */
static tamis_status read_secret(const config_reader *in, const yaml_node_t *node, server_keyspace *keyspace) {
    char *text;

    if (!keyspace->secret_file)
        return TAMIS_OK;
    if (!keyspace->filter_file && !keyspace->redis_filter)
        return tamis__config_fail(in, node,
                                  "secret_file: is that of filter_file or redis_filter; add one of them, or "
                                  "remove secret_file");
    const int failed =
        tamis__config_read_file(in->config, keyspace->secret_file, &text, &keyspace->secret_size);
    if (failed == ENOMEM)
        return tamis__config_fail_nomem(in, keyspace->secret_size);
    if (failed)
        return tamis__config_fail(in, node, "secret_file: %.200s: %s; give a file that can be read",
                                  keyspace->secret_file, strerror(failed));
    if (keyspace->secret_size < TAMIS_SECRET_MIN || keyspace->secret_size > TAMIS_SECRET_MAX)
        return tamis__config_fail(in, node, "secret_file: has %zu bytes; give a file of %d to %d bytes",
                                  keyspace->secret_size, TAMIS_SECRET_MIN, TAMIS_SECRET_MAX);
    keyspace->secret = text;
    return TAMIS_OK;
}

/* The keys of a filter come from one place. */
static tamis_status check_filter(const config_reader *in, const yaml_node_t *node,
                                 server_keyspace *keyspace) {
    const char *filter = keyspace->keys_file     ? "keys_file"
                         : keyspace->filter_file ? "filter_file"
                                                 : "redis_filter";
    const bool is_from_elsewhere = has_file(keyspace) || keyspace->redis_filter;

    if (keyspace->new_keys && !keyspace->all_keys && !is_from_elsewhere)
        return tamis__config_fail(in, node, "new_keys: needs all_keys, the keys of all rows; add it");
    if (keyspace->notify && is_from_elsewhere)
        return tamis__config_fail(in, node, "notify: is for all_keys, and %s is given; remove one", filter);
    if (keyspace->notify && !keyspace->all_keys)
        return tamis__config_fail(in, node,
                                  "notify: needs all_keys, which finds rows of times without a "
                                  "connection; add it");
    if (keyspace->scan_at && !keyspace->all_keys)
        return tamis__config_fail(in, node, "rescan_at: needs all_keys, which runs then; add it");
    if (keyspace->scan_at && tamis__guard_scan_minute(keyspace->scan_at) < 0)
        return tamis__config_fail(in, node, "rescan_at: '%.*s' is not a time of day; give one such as 03:30",
                                  SHOWN, keyspace->scan_at);
    if (keyspace->filter_file && keyspace->keys_file)
        return tamis__config_fail(in, node, "keys_file: given beside filter_file; remove one");
    if (has_file(keyspace) && keyspace->redis_filter)
        return tamis__config_fail(in, node, "redis_filter: given beside %s; remove one", filter);
    if (is_from_elsewhere && (keyspace->all_keys || keyspace->new_keys))
        return tamis__config_fail(in, node, "%s: given beside %s, another source of keys; remove one", filter,
                                  keyspace->all_keys ? "all_keys" : "new_keys");
    if (keyspace->news_ms && !has_file(keyspace))
        return tamis__config_fail(in, node, "keep_news: is for filter_file and keys_file; remove it");
    return read_secret(in, node, keyspace);
}

static tamis_status read_keyspace(const config_reader *in, const yaml_node_t *node,
                                  server_keyspace *keyspace) {
    keyspace->cache_bytes = (uint64_t)64 << 20;
    keyspace->line = node->start_mark.line + 1;
    tamis_status status = tamis__config_read_mapping(in, node, "keyspace", keyspace_fields, keyspace);
    if (status == TAMIS_OK)
        status = set_prefix(in, node, keyspace);
    if (status == TAMIS_OK)
        status = set_redis_prefix(in, node, keyspace);
    if (status != TAMIS_OK)
        return status;
    if (keyspace->cache_bytes > 0 && keyspace->cache_bytes < 64 << 10)
        return tamis__config_fail(in, node, "cache: less than 64KiB; give more, or 0 for no cache");
    return check_filter(in, node, keyspace);
}

static tamis_status read_keyspaces(const config_reader *in, const yaml_node_t *node, void *to) {
    server_config *config = in->config;

    (void)to;
    if (node->type != YAML_SEQUENCE_NODE || node->data.sequence.items.start == node->data.sequence.items.top)
        return tamis__config_fail(in, node,
                                  "keyspaces: expected a list; begin each keyspace with '- keys: PATTERN'");
    const size_t count = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    config->keyspaces = tamis__config_alloc(config, count * sizeof *config->keyspaces);
    if (!config->keyspaces)
        return tamis__config_fail_nomem(in, count * sizeof *config->keyspaces);
    for (size_t i = 0; i < count; i++) {
        const yaml_node_t *item = yaml_document_get_node(in->document, node->data.sequence.items.start[i]);
        server_keyspace *keyspace = &config->keyspaces[i];
        const tamis_status status = read_keyspace(in, item, keyspace);
        if (status != TAMIS_OK)
            return status;
        for (size_t j = 0; j < i; j++)
            if (strcmp(config->keyspaces[j].pattern, keyspace->pattern) == 0)
                return tamis__config_fail(in, item,
                                          "keys: a second keyspace has the pattern '%.*s'; remove one", SHOWN,
                                          keyspace->pattern);
        config->keyspace_count = i + 1;
    }
    return TAMIS_OK;
}

static const config_field filters_fields[] = {
    {"directory", FIELD_PATH, AT(server_filters, directory), .is_required = true},
    {"fpr", FIELD_REAL, AT(server_filters, fpr), NUMBERS(1e-12, 0.25)},
    {"capacity", FIELD_COUNT, AT(server_filters, capacity), NUMBERS(1, 1 << 30)},
    {"max", FIELD_COUNT, AT(server_filters, max), NUMBERS(1, 1e6)},
    {"memory", FIELD_SIZE, AT(server_filters, memory), NUMBERS(1 << 20, 0x1p50)},
    {.name = NULL},
};

static tamis_status read_filters(const config_reader *in, const yaml_node_t *node, void *to) {
    return tamis__config_read_mapping(in, node, "filters", filters_fields, to);
}

static const config_field root_fields[] = {
    {"listen", FIELD_ADDRESS, AT(server_config, listen)},
    {"metrics", FIELD_ADDRESS, AT(server_config, metrics)},
    {"password", FIELD_TEXT, AT(server_config, password)},
    {"password_file", FIELD_PASSWORD, AT(server_config, password)},
    {"tls", FIELD_NESTED, AT(server_config, tls), .read = read_tls},
    {"clients", FIELD_COUNT, AT(server_config, clients), NUMBERS(1, 1e6)},
    {"idle", FIELD_TIME, AT(server_config, idle_ms), NUMBERS(0, TIME_MAX)},
    {"write_timeout", FIELD_TIME, AT(server_config, write_timeout_ms), TIMES},
    {"command_max", FIELD_SIZE, AT(server_config, command_max), NUMBERS(1 << 10, 512 << 20)},
    {"reply_max", FIELD_SIZE, AT(server_config, reply_max), NUMBERS(1 << 10, 0x1p40)},
    {"redis", FIELD_REDIS, AT(server_config, redis)},
    {"database", FIELD_NESTED, AT(server_config, database), .read = read_database},
    {"keyspaces", FIELD_NESTED, AT(server_config, keyspaces), .read = read_keyspaces},
    {"filters", FIELD_NESTED, AT(server_config, filters), .read = read_filters},
    {.name = NULL},
};

/* A name such as 127.example.com may be that of any machine. */
static bool is_loopback(const server_address *address) {
    struct in_addr ipv4;

    return address->path || strcmp(address->host, "localhost") == 0 || strcmp(address->host, "::1") == 0 ||
           (inet_pton(AF_INET, address->host, &ipv4) == 1 && ntohl(ipv4.s_addr) >> 24 == 127);
}

/* Two keyspaces with one prefix would read each other's rows from Redis. */
static tamis_status check_redis_prefixes(const config_reader *in, const yaml_node_t *root) {
    const server_keyspace *keyspaces = in->config->keyspaces;

    for (size_t i = 0; in->config->redis && i < in->config->keyspace_count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(keyspaces[i].redis_prefix, keyspaces[j].redis_prefix) == 0)
                return tamis__config_fail(
                    in, root,
                    "prefix: keyspaces '%.*s' and '%.*s' have the same in Redis, '%.*s'; "
                    "give one of them another prefix",
                    SHOWN, keyspaces[j].pattern, SHOWN, keyspaces[i].pattern, SHOWN,
                    keyspaces[i].redis_prefix);
    return TAMIS_OK;
}

/* Checks fields that require each other. */
static tamis_status check_together(const config_reader *in, const yaml_node_t *root) {
    server_config *config = in->config;

    if (config->keyspace_count == 0 && !config->filters.directory)
        return tamis__config_fail(in, root, "configuration: needs keyspaces, or filters; add it");
    if (!config->listen.text)
        config->listen = (server_address){"127.0.0.1:6390", "127.0.0.1", NULL, 6390};
    if (config->metrics.path)
        return tamis__config_fail(in, root, "metrics: a Unix socket cannot be scraped; give HOST:PORT");
    if (!is_loopback(&config->listen) && !config->password && !config->tls.cacert)
        return tamis__config_fail(
            in, root,
            "listen: other machines reach %s and need no password; add password_file, or listen "
            "at 127.0.0.1",
            config->listen.text);
    for (size_t i = 0; i < config->keyspace_count; i++) {
        server_keyspace *keyspace = &config->keyspaces[i];
        if (!keyspace->database.sqlite && !keyspace->database.postgres)
            keyspace->database = config->database;
        if (!keyspace->database.sqlite && !keyspace->database.postgres)
            return tamis__config_fail(
                in, root, "keyspace '%.*s' has no database; add one to the keyspace, or to the file", SHOWN,
                keyspace->pattern);
        if (keyspace->notify && !keyspace->database.postgres)
            return tamis__fail(in->err, TAMIS_E_INVALID, 0,
                               "%s: line %zu: notify: is for PostgreSQL; give new_keys for SQLite",
                               config->file, keyspace->line);
        if (keyspace->redis_filter && !config->redis)
            return tamis__fail(
                in->err, TAMIS_E_INVALID, 0,
                "%s: line %zu: redis_filter: needs redis, the server that has the filter; add redis",
                config->file, keyspace->line);
        if (has_file(keyspace) && config->redis && keyspace->puts == 0 && keyspace->news_ms == 0)
            return tamis__fail(
                in->err, TAMIS_E_INVALID, 0,
                "%s: line %zu: keyspace '%.*s' has a file and shares a Redis; add keep_news, longer "
                "than a file is in use, or puts: none if no client uses GUARD.ADD",
                config->file, keyspace->line, SHOWN, keyspace->pattern);
    }
    return check_redis_prefixes(in, root);
}

static bool has_field(const config_reader *in, const yaml_node_t *root, const char *name) {
    for (yaml_node_pair_t *pair = root->data.mapping.pairs.start; pair < root->data.mapping.pairs.top;
         pair++) {
        const yaml_node_t *key = yaml_document_get_node(in->document, pair->key);
        if (strcmp((const char *)key->data.scalar.value, name) == 0)
            return true;
    }
    return false;
}

static tamis_status read_root(const config_reader *in) {
    const yaml_node_t *root = yaml_document_get_root_node(in->document);

    if (!root)
        return tamis__fail(in->err, TAMIS_E_INVALID, 0,
                           "%s: is empty; begin with keyspaces:", in->config->file);
    const tamis_status status =
        tamis__config_read_mapping(in, root, "configuration", root_fields, in->config);
    if (status != TAMIS_OK)
        return status;
    if (has_field(in, root, "password") && has_field(in, root, "password_file"))
        return tamis__config_fail(in, root, "password: given beside password_file; remove one");
    return check_together(in, root);
}

/* ---- the file ---- */

/* Returns the line of a byte that cannot be read. libyaml has its offset alone. */
static size_t line_of(const yaml_parser_t *parser) {
    const unsigned char *text = parser->input.string.start;
    size_t line = 1;

    for (size_t i = 0; i < parser->problem_offset && text + i < parser->input.string.end; i++)
        line += text[i] == '\n';
    return line;
}

static tamis_status fail_parser(const server_config *config, const yaml_parser_t *parser, tamis_error *err) {
    if (parser->error == YAML_MEMORY_ERROR)
        return tamis__fail_nomem(err, config->file, 0);
    if (parser->error == YAML_READER_ERROR)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: line %zu: not a text in UTF-8: %s; correct it",
                           config->file, line_of(parser), parser->problem);
    return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: line %zu: not YAML: %s; correct it", config->file,
                       parser->problem_mark.line + 1, parser->problem ? parser->problem : "unknown error");
}

/* Refuses a second document, which would be ignored. */
static tamis_status check_end(const server_config *config, yaml_parser_t *parser, tamis_error *err) {
    yaml_document_t document;

    if (!yaml_parser_load(parser, &document))
        return fail_parser(config, parser, err);
    const size_t line = document.start_mark.line + 1;
    const bool is_end = !yaml_document_get_root_node(&document);
    yaml_document_delete(&document);
    return is_end ? TAMIS_OK
                  : tamis__fail(err, TAMIS_E_INVALID, 0,
                                "%s: line %zu: a second document begins; remove the line ---", config->file,
                                line);
}

/* Refuses lists in lists in lists. The time that libyaml takes grows with the square of the depth. */
static tamis_status check_depth(const server_config *config, yaml_parser_t *parser, tamis_error *err) {
    yaml_event_t event;
    int depth = 0;
    bool is_end = false;

    while (!is_end && depth <= DEPTH_MAX) {
        if (!yaml_parser_parse(parser, &event))
            return fail_parser(config, parser, err);
        depth += event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT;
        depth -= event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        is_end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    return is_end ? TAMIS_OK
                  : tamis__fail(err, TAMIS_E_INVALID, 0,
                                "%s: line %zu: nested too deeply; take an example as "
                                "the pattern",
                                config->file, parser->mark.line + 1);
}

static tamis_status parse(server_config *config, const char *text, size_t size, tamis_error *err) {
    yaml_parser_t parser;
    yaml_document_t document;

    if (!yaml_parser_initialize(&parser))
        return tamis__fail_nomem(err, config->file, sizeof parser);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    tamis_status status = check_depth(config, &parser, err);
    yaml_parser_delete(&parser);
    if (status != TAMIS_OK)
        return status;
    if (!yaml_parser_initialize(&parser))
        return tamis__fail_nomem(err, config->file, sizeof parser);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    if (!yaml_parser_load(&parser, &document)) {
        status = fail_parser(config, &parser, err);
        yaml_parser_delete(&parser);
        return status;
    }
    status = read_root(&(config_reader){config, &document, err});
    yaml_document_delete(&document);
    if (status == TAMIS_OK)
        status = check_end(config, &parser, err);
    yaml_parser_delete(&parser);
    return status;
}

tamis_status tamis__server_config_read(server_config **config, const char *file,
                                       const tamis_allocator *allocator, tamis_error *err) {
    const tamis_allocator memory = tamis__allocator_resolve(allocator);
    server_config *made = tamis__alloc(&memory, sizeof *made, _Alignof(server_config));
    char *name, *text = NULL;
    size_t size = 0;

    if (!made)
        return tamis__fail_nomem(err, file, sizeof *made);
    made->memory = memory;
    made->clients = 10000;
    made->command_max = 1 << 20;
    made->reply_max = 64 << 20;
    made->write_timeout_ms = 10000;
    made->filters = (server_filters){.fpr = 0.01, .capacity = 100, .max = 100, .memory = (uint64_t)1 << 30};
    name = tamis__config_alloc(made, strlen(file) + 1);
    if (!name) {
        tamis__server_config_free(made);
        return tamis__fail_nomem(err, file, strlen(file));
    }
    made->file = strcpy(name, file);
    const int failed = tamis__config_read_file(made, file, &text, &size);
    tamis_status status;
    if (failed == ENOMEM)
        status = tamis__fail_nomem(err, file, size);
    else if (failed)
        status = tamis__fail(err, TAMIS_E_IO, failed, "%s: %s; give a file that can be read", file,
                             strerror(failed));
    else
        status = parse(made, text, size, err);
    if (status == TAMIS_OK)
        *config = made;
    else
        tamis__server_config_free(made);
    return status;
}

void tamis__server_config_free(server_config *config) {
    if (!config)
        return;
    const tamis_allocator memory = config->memory;
    while (config->blocks) {
        struct config_block *block = config->blocks;
        config->blocks = block->next;
        tamis__free(&memory, block, block->size);
    }
    tamis__free(&memory, config, sizeof *config);
}

static bool texts_equal(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool tamis__server_keyspaces_equal(const server_keyspace *a, const server_keyspace *b) {
    return texts_equal(a->pattern, b->pattern) && texts_equal(a->database.sqlite, b->database.sqlite) &&
           texts_equal(a->database.postgres, b->database.postgres) &&
           texts_equal(a->database.init, b->database.init) && texts_equal(a->row, b->row) &&
           texts_equal(a->all_keys, b->all_keys) && texts_equal(a->new_keys, b->new_keys) &&
           texts_equal(a->notify, b->notify) && texts_equal(a->scan_at, b->scan_at) &&
           texts_equal(a->filter_file, b->filter_file) && texts_equal(a->redis_filter, b->redis_filter) &&
           texts_equal(a->keys_file, b->keys_file) && a->secret_size == b->secret_size &&
           !a->secret == !b->secret && (!a->secret || memcmp(a->secret, b->secret, a->secret_size) == 0) &&
           a->news_ms == b->news_ms && texts_equal(a->redis_prefix, b->redis_prefix) &&
           !(a->overlap < b->overlap) && !(a->overlap > b->overlap) && a->value == b->value &&
           a->without_filter == b->without_filter && a->puts == b->puts && a->life_ms == b->life_ms &&
           a->null_life_ms == b->null_life_ms && a->cache_life_ms == b->cache_life_ms &&
           a->timeout_ms == b->timeout_ms && a->lease_ms == b->lease_ms && a->mark_ms == b->mark_ms &&
           a->scan_ms == b->scan_ms && a->scan_new_ms == b->scan_new_ms && a->sessions == b->sessions &&
           a->keys_max == b->keys_max && a->cache_bytes == b->cache_bytes && !(a->fpr < b->fpr) &&
           !(a->fpr > b->fpr);
}

bool tamis__server_filters_equal(const server_filters *a, const server_filters *b) {
    return texts_equal(a->directory, b->directory) && !(a->fpr < b->fpr) && !(a->fpr > b->fpr) &&
           a->capacity == b->capacity && a->max == b->max && a->memory == b->memory;
}
