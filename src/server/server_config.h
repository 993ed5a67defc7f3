/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVER_SERVER_CONFIG_H
#define TAMIS_SERVER_SERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/experimental/guard.h>
#include <tamis/status.h>

/* The configuration file of a server (YAML). */

typedef struct server_address {
    const char *text; /* as in the file */
    const char *host; /* NULL: no address, or `path` is set */
    const char *path; /* of a Unix socket; NULL: none */
    uint16_t port;
} server_address;

/* Names of PEM files. cert NULL: no TLS. cacert: NULL, or the authority that signs clients' certificates. */
typedef struct server_tls_files {
    const char *cert, *key, *cacert;
} server_tls_files;

/* Exactly one of `sqlite` and `postgres` is set. */
typedef struct server_database {
    const char *sqlite; /* a file name, or ":memory:" */
    const char *postgres;
    const char *init; /* statements; NULL: none */
} server_database;

typedef struct server_keyspace {
    const char *pattern; /* as in the file */
    size_t line;         /* of the file */
    const char *prefix;  /* the pattern without its asterisk */
    size_t prefix_size;
    bool is_exact; /* the only key is the prefix */
    server_database database;
    const char *row, *all_keys, *new_keys, *notify; /* NULL: not given */
    const char *filter_file, *keys_file;            /* the same */
    const char *redis_filter, *scan_at;             /* the same */
    const char *secret_file, *secret;               /* the same; `secret`: its content */
    size_t secret_size;
    uint32_t news_ms; /* 0: not given */
    double overlap;
    uint32_t value;           /* 0: text, 1: json */
    const char *redis_prefix; /* of the keys in Redis */
    uint32_t without_filter;  /* a tamis_guard_mode */
    uint32_t puts;            /* 0: allowed, 1: none */
    uint32_t life_ms, null_life_ms, cache_life_ms, timeout_ms, lease_ms, mark_ms, scan_ms, scan_new_ms;
    uint32_t sessions, keys_max;
    uint64_t cache_bytes;
    double fpr;
} server_keyspace;

/* Named filters, for BF.ADD and so on. */
typedef struct server_filters {
    const char *directory; /* NULL: none */
    double fpr;            /* of a filter that is made by its first add */
    uint32_t capacity;     /* the same */
    uint32_t max;          /* number of filters */
    uint64_t memory;       /* bytes of all filters together */
} server_filters;

/* Memory of a configuration. */
struct config_block {
    struct config_block *next;
    size_t size;
};

typedef struct server_config {
    tamis_allocator memory;
    struct config_block *blocks; /* memory of all pointers below */
    const char *file;
    server_address listen, metrics; /* metrics without host and path: none */
    const char *password;           /* NULL: clients need none */
    server_tls_files tls;
    uint32_t clients;                   /* max. number */
    uint32_t idle_ms, write_timeout_ms; /* 0: no limit */
    uint64_t command_max, reply_max;    /* bytes of a command, and of the rows of MGET */
    const char *redis;                  /* URI; NULL: none */
    server_database database;           /* of keyspaces without their own */
    server_keyspace *keyspaces;
    size_t keyspace_count;
    server_filters filters;
} server_config;

/*
 * Reads and checks a file. The caller owns *config until tamis__server_config_free. A message begins with the
 * name of the file and has the line: "FILE: line 7: what is wrong; what to do".
 *
 * - TAMIS_E_INVALID: the content is not valid. TAMIS_E_IO: the file, or one that it names, cannot be read.
 */
tamis_status tamis__server_config_read(server_config **config, const char *file,
                                       const tamis_allocator *allocator, tamis_error *err);
void tamis__server_config_free(server_config *config);

/* True if a guard of `a` can serve `b`: all fields are equal. */
bool tamis__server_keyspaces_equal(const server_keyspace *a, const server_keyspace *b);
/* True if all fields are the same. */
bool tamis__server_filters_equal(const server_filters *a, const server_filters *b);

/* ---- server_config_values.c ---- */

/* Parses 500ms, 2s, 10m, 24h, 7d into whole milliseconds. Returns false for other text. */
bool tamis__config_parse_time(const char *text, double *ms);
/* Parses 64MiB, 64M (the same), 64MB (10^6), or a number of bytes. Returns false for other text. */
bool tamis__config_parse_size(const char *text, double *bytes);
/* Parses a number, without blanks around it. Returns false for other text. */
bool tamis__config_parse_real(const char *text, double *number);
/* Print a time and a size in the largest unit of which they are a multiple. */
void tamis__config_show_time(char *to, size_t size, double ms);
void tamis__config_show_size(char *to, size_t size, double bytes);
/* Parses HOST:PORT, [IPv6]:PORT and unix:PATH. *address then points into `text`, which is altered. */
bool tamis__config_parse_address(char *text, server_address *address);
/* Returns the name most similar to `text` in a list that ends with NULL, or NULL if none is similar. */
const char *tamis__config_similar(const char *text, const char *const *names);

#endif
