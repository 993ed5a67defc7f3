/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * URIs of servers and filters. A copy of the text is split from the outside in, and each part is decoded
 * in place:
 *
 *     redis+sentinel://user:password@h1:p1,h2:p2/MASTER/db/NAME?parameter=value&...
 *                      |------ authority ------| |--- path ---| |---- query ----|
 *
 *     1. the scheme gives the kind, and whether there is TLS
 *     2. the first ? begins the query; before it, the first / begins the path
 *     3. an @ in path or query is refused
 *     4. authority: a user ends at the last @; the rest is a list of addresses, or a path of a Unix socket
 *     5. path: the master of sentinels or the product of a Codis first, then db/NAME
 *     6. query: parameters; redis_uri_parameters.c reads their values
 *
 * Splitting comes before decoding, so a decoded part may hold any of the separators.
 *
 * Invariants:
 * 1. No message shows a password: messages have `shown` or `shown_name`, and values of other parameters. A
 *    password with a raw / or ? would be split in the wrong place and shown, so step 3 refuses the @ behind
 *    it.
 * 2. All strings of the URI lie in `block`.
 */
#include "store/redis/connection/redis_uri.h"

#include <stdio.h>
#include <string.h>

#include <tamis/experimental/redis.h>

#include "base/decimal.h"
#include "base/memory.h"
#include "store/file/file_error.h"

enum { PORT = 6379, SENTINEL_PORT = 26379, ZOOKEEPER_PORT = 2181, DB_MAX = 65535 };

static tamis_status refuse(const tamis__redis_uri *uri, const char *what, const char *remedy,
                           tamis_error *err) {
    return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: %s; %s", uri->shown, what, remedy);
}

/* ---- parts ---- */

/* Removes the values of the parameters with passwords. */
static void hide_passwords(char *shown) {
    static const char name[] = "_password="; /* sentinel_password and zk_password */
    for (char *value = shown; (value = strstr(value, name));) {
        value += sizeof name - 1;
        const char *rest = value + strcspn(value, "&");
        memmove(value, rest, strlen(rest) + 1);
    }
}

/* Copies `size` bytes, or as many as fit, with a ? for each control character. */
static void show_line(char *to, size_t buffer_size, const char *text, size_t size) {
    size_t used = 0;
    for (; used < size && used + 1 < buffer_size; used++)
        to[used] = (unsigned char)text[used] < 0x20 || text[used] == 0x7f ? '?' : text[used];
    to[used] = '\0';
}

/* Leaves out everything between the scheme and the last @. If an @ comes before "://", there is no scheme,
 * and the text before it is left out too. If the last @ follows a ?, any part might be the password: then
 * only the scheme is shown. */
size_t tamis_redis_uri_show(const char *text, char *to, size_t buffer_size) {
    const char *rest = strstr(text, "://"), *at_sign = strrchr(text, '@'), *query = strchr(text, '?');
    size_t used = 0;
    rest = rest && !memchr(text, '@', (size_t)(rest - text)) ? rest + 3 : text;
    if (buffer_size == 0)
        return 0;
    if (at_sign && query && at_sign > query) {
        show_line(to, buffer_size, text, (size_t)(rest - text));
        strncat(to, "...", buffer_size - strlen(to) - 1);
        return strlen(to);
    }
    for (const char *c = text; *c && used + 1 < buffer_size; c++) {
        if (at_sign && c == rest)
            c = at_sign + 1;
        if (!*c)
            break;
        to[used++] = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
    }
    to[used] = '\0';
    hide_passwords(to);
    return strlen(to);
}

/* Sets the text for messages. A name without a scheme has no user, so it is shown whole. */
static void set_shown(tamis__redis_uri *uri, const char *text, bool is_name) {
    if (!is_name || strstr(text, "://")) {
        tamis_redis_uri_show(text, uri->shown, sizeof uri->shown);
        return;
    }
    show_line(uri->shown, sizeof uri->shown, text, strlen(text));
}

static int digit_of(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decodes in place. *size is the decoded size. */
static tamis_status decode(const tamis__redis_uri *uri, char *text, size_t *size, tamis_error *err) {
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        int high = digit_of(from[1]), low = high < 0 ? -1 : digit_of(from[2]);
        if (low < 0)
            return refuse(uri, "has a % without two hexadecimal digits behind it",
                          "write a percent sign as %25", err);
        *to++ = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    *size = (size_t)(to - text);
    return TAMIS_OK;
}

/* Decodes a part that must have no zero byte. */
static tamis_status decode_text(const tamis__redis_uri *uri, char *text, tamis_error *err) {
    size_t size;
    const tamis_status status = decode(uri, text, &size, err);
    if (status == TAMIS_OK && strlen(text) != size)
        return refuse(uri, "has a zero byte (%00) outside the filter's name", "leave it out", err);
    return status;
}

/* Cuts the text at the first `mark`. Returns the text after it, or NULL if there is no mark. */
static char *split_at(char *text, char mark) {
    char *found = strchr(text, mark);
    if (found)
        *found++ = '\0';
    return found;
}

static tamis_status parse_user(tamis__redis_uri *uri, char **authority, tamis_error *err) {
    char *at_sign = strrchr(*authority, '@');
    if (!at_sign)
        return TAMIS_OK;
    *at_sign = '\0';
    char *colon = strchr(*authority, ':');
    if (!colon)
        return refuse(uri, "has a user without a password",
                      "write redis://user:password@host, or :password@host", err);
    *colon = '\0';
    uri->user = **authority ? *authority : NULL;
    uri->password = colon + 1;
    tamis_status status = decode_text(uri, *authority, err);
    if (status == TAMIS_OK)
        status = decode_text(uri, colon + 1, err);
    *authority = at_sign + 1;
    return status;
}

static tamis_status parse_socket(tamis__redis_uri *uri, char *text, tamis_error *err) {
    uri->addresses[uri->address_count++] = (tamis__redis_address){text, 0};
    if (!*text)
        return refuse(uri, "names no socket", "write redis+unix://%2Frun%2Fredis.sock/NAME", err);
    return decode_text(uri, text, err);
}

bool tamis__redis_address_read(const char *text, const char **host, size_t *host_size, uint16_t *port) {
    const char *colon = strrchr(text, ':');
    uint64_t number;
    if (!colon || !tamis__read_number(colon + 1, UINT16_MAX, &number) || number == 0)
        return false;
    const bool is_bracketed = *text == '[' && colon[-1] == ']';
    *host = text + is_bracketed;
    *host_size = (size_t)(colon - text) - 2 * (size_t)is_bracketed;
    *port = (uint16_t)number;
    return true;
}

static tamis_status parse_address(tamis__redis_uri *uri, char *text, tamis_error *err) {
    char *port = NULL;
    uint64_t number = uri->kind == TAMIS__REDIS_SENTINEL ? SENTINEL_PORT
                      : uri->kind == TAMIS__REDIS_CODIS  ? ZOOKEEPER_PORT
                                                         : PORT;
    if (*text == '[') { /* IPv6 */
        char *end = strchr(text, ']');
        if (!end || (end[1] && end[1] != ':'))
            return refuse(uri, "has a [ without its ]", "write an IPv6 host as [::1]:6379", err);
        port = end[1] ? end + 2 : NULL;
        *end = '\0';
        text++;
    } else {
        port = strchr(text, ':');
        if (port)
            *port++ = '\0';
    }
    if (port && (!tamis__read_number(port, 65535, &number) || number == 0))
        return refuse(uri, "has a port that is not a number from 1 to 65535", "write host:6379", err);
    uri->addresses[uri->address_count++] =
        (tamis__redis_address){*text ? text : "127.0.0.1", (uint16_t)number};
    return decode_text(uri, text, err);
}

static tamis_status parse_addresses(tamis__redis_uri *uri, char *text, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    if (uri->kind == TAMIS__REDIS_ONE)
        return strchr(text, ',')
                   ? refuse(uri, "names several servers",
                            "say how they belong together: redis+shard:// or redis+cluster://", err)
                   : parse_address(uri, text, err);
    while (text && status == TAMIS_OK) {
        char *next = split_at(text, ',');
        if (!*text)
            return refuse(uri, "has an empty place in its list of hosts", "write h1:6379,h2:6379", err);
        if (uri->address_count == TAMIS__REDIS_ADDRESSES)
            return refuse(uri, "names more than 64 hosts", "leave some out", err);
        status = parse_address(uri, text, err);
        text = next;
    }
    return status;
}

/* Cuts the first segment off the path: the master of sentinels, or the product of a Codis. */
static tamis_status parse_master(tamis__redis_uri *uri, char **path, tamis_error *err) {
    char *master = *path;
    if ((!master || !*master || *master == '/') && uri->kind == TAMIS__REDIS_CODIS)
        return refuse(uri, "names no product", "write codis+zk://host:2181/PRODUCT/NAME", err);
    if (!master || !*master || *master == '/')
        return refuse(uri, "names no master", "write redis+sentinel://host:26379/MASTER/db/NAME", err);
    *path = split_at(master, '/');
    uri->master = master;
    return decode_text(uri, master, err);
}

static tamis_status parse_path(tamis__redis_uri *uri, char *path, tamis_error *err) {
    char *name = path, *slash = strchr(path, '/');
    uint64_t db;
    if (slash) {
        *slash = '\0';
        if (!tamis__read_number(path, DB_MAX, &db))
            return refuse(uri, "has a slash in its path, and the text before it is not a database number",
                          "write a slash within the filter's name as %2F", err);
        if (db != 0 && uri->kind == TAMIS__REDIS_CLUSTER)
            return refuse(uri, "names a database, and a cluster has none but 0", "leave it out", err);
        uri->db = (uint32_t)db;
        name = slash + 1;
        if (strchr(name, '/'))
            return refuse(uri, "has more than db/NAME in its path",
                          "write a slash within the filter's name as %2F", err);
    }
    if (!*name)
        return TAMIS_OK;
    uri->name = name;
    show_line(uri->shown_name, sizeof uri->shown_name, name, strlen(name));
    return decode(uri, name, &uri->name_size, err);
}

static tamis_status parse_parameters(tamis__redis_uri *uri, char *text, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    while (text && *text && status == TAMIS_OK) {
        char *next = strchr(text, '&'), *value = strchr(text, '=');
        if (next)
            *next++ = '\0';
        if (!value || (next && value >= next))
            return refuse(uri, "has a parameter without a value", "write ?parameter=value&...", err);
        *value++ = '\0';
        if (uri->parameter_count == TAMIS__REDIS_PARAMETERS)
            return refuse(uri, "has too many parameters", "leave some out", err);
        for (size_t i = 0; i < uri->parameter_count; i++)
            if (strcmp(uri->parameters[i].name, text) == 0)
                return refuse(uri, "has a parameter twice", "give each of them once", err);
        uri->parameters[uri->parameter_count++] = (tamis__redis_parameter){text, value, false};
        status = decode_text(uri, value, err);
        text = next;
    }
    return status;
}

static tamis_status init_uri(tamis__redis_uri *uri, const char *text, bool is_name,
                             const tamis_allocator *allocator, tamis_error *err) {
    *uri = (tamis__redis_uri){.allocator = allocator, .block_size = strlen(text) + 1};
    set_shown(uri, text, is_name);
    uri->block = tamis__alloc(allocator, uri->block_size, 1);
    if (!uri->block)
        return tamis__fail_nomem(err, "URI", uri->block_size);
    memcpy(uri->block, text, uri->block_size);
    return TAMIS_OK;
}

tamis_status tamis__redis_uri_parse(tamis__redis_uri *uri, const char *text, const tamis_allocator *allocator,
                                    tamis_error *err) {
    static const struct {
        const char *scheme;
        tamis__redis_kind kind;
        bool is_socket, has_tls;
    } schemes[] = {{.scheme = "redis://", .kind = TAMIS__REDIS_ONE},
                   {.scheme = "rediss://", .kind = TAMIS__REDIS_ONE, .has_tls = true},
                   {.scheme = "redis+unix://", .kind = TAMIS__REDIS_ONE, .is_socket = true},
                   {.scheme = "redis+shard://", .kind = TAMIS__REDIS_SHARD},
                   {.scheme = "redis+cluster://", .kind = TAMIS__REDIS_CLUSTER},
                   {.scheme = "redis+sentinel://", .kind = TAMIS__REDIS_SENTINEL},
                   {.scheme = "rediss+shard://", .kind = TAMIS__REDIS_SHARD, .has_tls = true},
                   {.scheme = "rediss+cluster://", .kind = TAMIS__REDIS_CLUSTER, .has_tls = true},
                   {.scheme = "rediss+sentinel://", .kind = TAMIS__REDIS_SENTINEL, .has_tls = true},
                   {.scheme = "codis+zk://", .kind = TAMIS__REDIS_CODIS}};
    char *authority = NULL, *path, *query;
    bool is_socket = false;
    tamis_status status = init_uri(uri, text, false, allocator, err);
    if (status != TAMIS_OK)
        return status;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        const size_t size = strlen(schemes[i].scheme);
        if (strncmp(text, schemes[i].scheme, size) == 0) {
            authority = uri->block + size;
            uri->kind = schemes[i].kind;
            is_socket = schemes[i].is_socket;
            uri->has_tls = schemes[i].has_tls;
        }
    }
    if (!authority)
        return refuse(uri, "is not a URI of a Redis",
                      "write redis://host:port/NAME, rediss:// for TLS, or redis+unix://SOCKET/NAME", err);
    query = split_at(authority, '?');
    path = split_at(authority, '/');
    /* Otherwise a password with a slash would be split into host and name, and appear in messages. */
    if ((path && strchr(path, '@')) || (query && strchr(query, '@')))
        return refuse(uri, "has an @ behind the host", "write %40, and in a password %2F for / and %3F for ?",
                      err);
    status = parse_user(uri, &authority, err);
    if (status == TAMIS_OK)
        status = is_socket ? parse_socket(uri, authority, err) : parse_addresses(uri, authority, err);
    if (status == TAMIS_OK && (uri->kind == TAMIS__REDIS_SENTINEL || uri->kind == TAMIS__REDIS_CODIS))
        status = parse_master(uri, &path, err);
    if (status == TAMIS_OK && path)
        status = parse_path(uri, path, err);
    if (status == TAMIS_OK)
        status = parse_parameters(uri, query, err);
    return status;
}

tamis_status tamis__redis_uri_parse_name(tamis__redis_uri *uri, const char *text,
                                         const tamis_allocator *allocator, tamis_error *err) {
    tamis_status status = init_uri(uri, text, true, allocator, err);
    if (status != TAMIS_OK)
        return status;
    if (strstr(text, "://"))
        return refuse(uri, "is a URI, where the name of a filter belongs", "give NAME?parameter=value&...",
                      err);
    char *query = split_at(uri->block, '?');
    uri->name = uri->block;
    show_line(uri->shown_name, sizeof uri->shown_name, uri->name, strlen(uri->name));
    status = decode(uri, uri->block, &uri->name_size, err);
    if (status == TAMIS_OK)
        status = parse_parameters(uri, query, err);
    return status;
}

tamis_status tamis__redis_uri_server(tamis__redis_uri *uri, tamis_error *err) {
    uint64_t db;
    if (!uri->name)
        return TAMIS_OK;
    if (uri->db != 0 || strlen(uri->name) != uri->name_size || !tamis__read_number(uri->name, DB_MAX, &db))
        return refuse(uri, "names a filter, where a server belongs", "write redis://host:port/db", err);
    uri->db = (uint32_t)db;
    uri->name = NULL;
    return TAMIS_OK;
}

void tamis__redis_uri_release(tamis__redis_uri *uri) {
    if (uri->block)
        tamis__free(uri->allocator, uri->block, uri->block_size);
    uri->block = NULL;
}
