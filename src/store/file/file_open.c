/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Opening a filter's file.
 *
 * Read-only (the default): the file is mapped shared, and the format leaves the bits in the mapping.
 *
 *     tamis_filter --> opened_file    path, options, former hashers: kept over reloads
 *          |
 *          +--------> backing        mapping and descriptor of the current file
 *                         |
 *                     [header|bits ...........]   page cache, shared by all processes
 *
 * Opening reads only the header, and all processes share one copy of the bits.
 *
 * Writable: the file is read whole into private memory. Changes reach the file only by a save.
 *
 * Reload: a saved file has a new inode, because saving renames (file_save.c). tamis_filter_reload opens the
 * name again and compares it with the file in use by inode, size, time and a hash of the first 4 KiB. If they
 * differ, the new content is swapped into the same handle. The old mapping stays valid until then, even if
 * the old file has lost its name.
 *
 * A caller may hold the hasher of the former file in any thread. So a reload keeps that hasher object if
 * both files hash keys in the same way. Otherwise the old one moves to the list `old_hasher`, which is
 * freed with the filter.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "base/system.h"
#include "base/thread.h"
#include "base/versioned.h"
#include "filter/filter_int.h"
#include "format/format.h"
#include "store/file/file_error.h"
#include "store/file/file_fingerprint.h"
#include "store/file/filter_file.h"
#include "store/file/source_file.h"

enum { HEAD = 4096 }; /* bytes hashed to tell two files apart */

/* A hasher of a former file, which callers may still hold. */
typedef struct old_hasher {
    tamis_hasher *hasher;
    struct old_hasher *next;
} old_hasher;

/* Data of a read-only filter that outlives a reload. */
typedef struct opened_file {
    tamis__opened head; /* part known to the filter; must be the first field */
    tamis_allocator memory;
    pthread_mutex_t reloading;
    tamis_open_options options; /* options of the open; the secret points into this block */
    /* Hash of the current file's first bytes. The file's metadata cannot always tell it from its successor:
     * both may have the same time, and a freed inode number is used again. The header has a checksum, so the
     * hash differs. */
    uint64_t head_hash;
    old_hasher *old_hasher;
    size_t path_size; /* bytes of `path` with its NUL; the secret follows them */
    char path[];
} opened_file;

/* The bytes of a file, mapped or read. */
typedef struct content {
    uint8_t *bytes;
    size_t size;
    bool mapped;
    size_t allocated; /* bytes allocated for a file that was read; 0: none, or the filter owns them */
} content;

/* ---- reading ---- */

tamis_status tamis__file_open(int *fd, struct stat *st, const char *path, tamis_error *err) {
    *fd = tamis__open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (*fd < 0)
        return tamis__fail_file(err, path, errno);
    tamis_status status = TAMIS_OK;
    if (tamis__sys.fstat(*fd, st) < 0)
        status = tamis__fail_file(err, path, errno);
    else if (S_ISDIR(st->st_mode))
        status = tamis__fail_file(err, path, EISDIR);
    else if (!S_ISREG(st->st_mode))
        status = tamis__fail_irregular(err, path);
    if (status != TAMIS_OK)
        tamis__sys.close(*fd);
    return status;
}

/* Finds the key in FILE#KEY, and copies FILE to `name`. NULL: there is no such file. */
static const char *find_key(const char *path, char name[PATH_MAX]) {
    struct stat st;
    for (const char *hash = strchr(path, '#'); hash && hash - path < PATH_MAX; hash = strchr(hash + 1, '#')) {
        memcpy(name, path, (size_t)(hash - path));
        name[hash - path] = 0;
        if (tamis__sys.stat(name, &st) == 0 && S_ISREG(st.st_mode))
            return hash + 1;
    }
    return NULL;
}

tamis_status tamis__filter_file_open(tamis__filter_source *file, tamis_error *err) {
    char name[PATH_MAX];
    const bool is_missing = tamis__sys.stat(file->path, &file->st) != 0 && errno == ENOENT;
    file->key = is_missing ? find_key(file->path, name) : NULL;
    return tamis__file_open(&file->fd, &file->st, file->key ? name : file->path, err);
}

static tamis_status read_from_start(const tamis__filter_source *file, uint8_t *bytes, size_t size,
                                    size_t *got, tamis_error *err) {
    const tamis__open_file open_file = {.fd = file->fd, .name = file->path};
    return tamis__file_read(&open_file, (tamis__file_span){0, size}, bytes, got, err);
}

static tamis_status hash_head(const tamis__filter_source *file, uint64_t *hash, tamis_error *err) {
    uint8_t head[HEAD];
    size_t size;
    const tamis_status status = read_from_start(file, head, sizeof head, &size, err);
    if (status == TAMIS_OK)
        *hash = XXH3_64bits(head, size);
    return status;
}

static void unmap(void *bytes, size_t size) {
    tamis__sys.unmap(bytes, size);
}

static void free_content(const content *content_read, const tamis_allocator *memory) {
    if (content_read->mapped)
        unmap(content_read->bytes, content_read->size);
    else if (content_read->allocated)
        tamis__free(memory, content_read->bytes, content_read->allocated);
}

static tamis_status read_content(content *content_read, const tamis__filter_source *file,
                                 const tamis_open_options *options, tamis_error *err) {
    const size_t file_size = (size_t)file->st.st_size;
    *content_read = (content){.bytes = NULL, .size = file_size, .mapped = false, .allocated = file_size};
    if (content_read->size == 0)
        return TAMIS_OK;
    if (!options->writable) {
        content_read->bytes = tamis__sys.map_file(file->fd, content_read->size);
        content_read->mapped = content_read->bytes != NULL;
        if (content_read->mapped)
            return TAMIS_OK;
        if (errno != ENODEV) /* a file system without mappings */
            return tamis__fail_file(err, file->path, errno);
    }
    /* Memory is allocated only for a file that begins like a filter. */
    uint8_t head[HEAD] = {0};
    size_t got;
    tamis_format format;
    const tamis__shown name = tamis__show(file->path);
    tamis_status status = read_from_start(file, head, sizeof head, &got, err);
    if (status == TAMIS_OK)
        status = tamis__format_recognise(&(tamis__encoded_bytes){.bytes = head,
                                                                 .size = content_read->size,
                                                                 .name = name.text,
                                                                 .stay = false,
                                                                 .block_size = NULL},
                                         options, &format, err);
    if (status != TAMIS_OK)
        return status;
    content_read->bytes = tamis__alloc(options->allocator, content_read->allocated, TAMIS__LINE);
    if (!content_read->bytes)
        return tamis__fail_nomem(err, name.text, content_read->allocated);
    tamis__advise_large(content_read->bytes, content_read->allocated);
    return read_from_start(file, content_read->bytes, content_read->allocated, &content_read->size, err);
}

static void release_content(const tamis__backing *backing) {
    unmap(backing->bytes, backing->size);
    tamis__sys.close(backing->fd);
}

static bool is_unchanged(const tamis__backing *backing) {
    struct stat now;
    return tamis__sys.fstat(backing->fd, &now) == 0 && (size_t)now.st_size == backing->size &&
           now.st_mtim.tv_sec == backing->modified.tv_sec && now.st_mtim.tv_nsec == backing->modified.tv_nsec;
}

/* Makes a filter from the open file. If the file stays mapped, the filter takes file->fd over, which becomes
 * -1. */
static tamis_status load_filter(tamis_filter **filter, tamis__filter_source *file,
                                const tamis_open_options *options, tamis_error *err) {
    content content_read;
    tamis_filter *created;
    tamis_status status = read_content(&content_read, file, options, err);
    if (status == TAMIS_OK) {
        const tamis__shown name = tamis__show(file->path);
        const tamis__encoded_bytes encoded = {
            .bytes = content_read.bytes ? content_read.bytes : (const uint8_t *)"",
            .size = content_read.size,
            .name = name.text,
            .stay = content_read.mapped,
            .block_size = content_read.mapped || !content_read.bytes ? NULL : &content_read.allocated,
            .key = file->key};
        status = tamis__format_decode(&created, &encoded, options, err);
    }
    if (status == TAMIS_OK && created->verifier && content_read.mapped) {
        /* Probes are spread at random, so reading ahead would be wasted. */
        (void)tamis__sys.advise(content_read.bytes, content_read.size, MADV_RANDOM);
        created->backing = (tamis__backing){.release = release_content,
                                            .is_same = is_unchanged,
                                            .bytes = content_read.bytes,
                                            .size = content_read.size,
                                            .fd = file->fd,
                                            .modified = file->st.st_mtim};
        file->fd = -1;
    } else {
        free_content(&content_read, options->allocator);
    }
    if (status != TAMIS_OK)
        return status;
    status = tamis__source_file_set(created, file->path, &file->st, err);
    if (status == TAMIS_OK)
        *filter = created;
    else
        tamis_filter_free(created);
    return status;
}

/* ---- data kept over reloads ---- */

static size_t opened_size(const opened_file *file) {
    return sizeof *file + file->path_size + file->options.secret_size;
}

static void release(tamis__opened *opened) {
    opened_file *file = (opened_file *)opened;
    const tamis_allocator memory = file->memory;
    for (old_hasher *old = file->old_hasher, *next; old; old = next) {
        next = old->next;
        tamis_hasher_free(old->hasher);
        tamis__free(&memory, old, sizeof *old);
    }
    pthread_rwlock_destroy(&file->head.batch_lock);
    pthread_rwlock_destroy(&file->head.slow_lock);
    pthread_mutex_destroy(&file->reloading);
    const size_t size = opened_size(file);
    sodium_memzero(file, size);
    tamis__free(&memory, file, size);
}

static int init_locks(tamis__opened *opened) {
    int failed = tamis__rwlock_init(&opened->batch_lock);
    if (failed)
        return failed;
    failed = pthread_rwlock_init(&opened->slow_lock, NULL);
    if (failed)
        pthread_rwlock_destroy(&opened->batch_lock);
    return failed;
}

static tamis_status remember_file(tamis_filter *filter, const char *path, const tamis_open_options *options,
                                  uint64_t head, tamis_error *err) {
    size_t path_size = strlen(path) + 1, secret_size = options->secret ? options->secret_size : 0;
    const size_t size = sizeof(opened_file) + path_size + secret_size;
    opened_file *file = tamis__alloc(options->allocator, size, _Alignof(opened_file));
    if (!file)
        return tamis__fail_nomem(err, "filter", size);
    if (init_locks(&file->head) != 0) {
        tamis__free(options->allocator, file, size);
        return tamis__fail(err, TAMIS_E_SYSTEM, 0, "%s: the system has no lock left; free memory",
                           tamis__show(path).text);
    }
    pthread_mutex_init(&file->reloading, NULL);
    file->head.release = release;
    file->memory = *options->allocator;
    file->options = *options;
    file->options.allocator = &file->memory;
    file->options.secret = secret_size ? file->path + path_size : NULL;
    file->options.secret_size = secret_size;
    file->head_hash = head;
    file->path_size = path_size;
    memcpy(file->path, path, path_size);
    if (secret_size)
        memcpy(file->path + path_size, options->secret, secret_size);
    filter->opened = &file->head;
    return TAMIS_OK;
}

static tamis_status open_filter(tamis_filter **filter, const char *path, const tamis_open_options *options,
                                tamis_error *err) {
    tamis__filter_source file = {.path = path};
    uint64_t head = 0;
    tamis_filter *created = NULL;
    tamis_status status = tamis__filter_file_open(&file, err);
    if (status != TAMIS_OK)
        return status;
    if (!options->writable)
        status = hash_head(&file, &head, err);
    if (status == TAMIS_OK)
        status = load_filter(&created, &file, options, err);
    if (file.fd >= 0)
        tamis__sys.close(file.fd);
    if (status == TAMIS_OK && !options->writable)
        status = remember_file(created, path, options, head, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(created);
        return status;
    }
    *filter = created;
    return TAMIS_OK;
}

tamis_status tamis_filter_open(tamis_filter **filter, const char *path, const tamis_open_options *given,
                               tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(path, err);
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&options, sizeof options, given, "TAMIS_OPEN_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    const tamis_allocator memory = tamis__allocator_resolve(options.allocator);
    options.allocator = &memory;
    return open_filter(filter, path, &options, err);
}

/* ---- reloading ---- */

static bool same_hasher(const tamis_hasher *a, const tamis_hasher *b) {
    return a->scheme == b->scheme && a->seed == b->seed && a->hasher_id == b->hasher_id;
}

/* Replaces the filter's content by that of `with`, which it frees. Callers may use the old hasher at any
 * time, so it is kept: in `old_hasher`, if the new file needs another one. */
static tamis_status swap(tamis_filter *filter, tamis_filter *with, opened_file *file, tamis_error *err) {
    if (same_hasher(filter->hasher, with->hasher)) {
        tamis_hasher *hasher = with->hasher;
        with->hasher = filter->hasher;
        tamis__filter_swap(filter, with);
        with->hasher = hasher;
        tamis_filter_free(with);
        return TAMIS_OK;
    }
    old_hasher *old = tamis__alloc(&file->memory, sizeof *old, _Alignof(old_hasher));
    if (!old) {
        tamis_filter_free(with);
        return tamis__fail_nomem(err, "filter", sizeof *old);
    }
    tamis__filter_swap(filter, with);
    *old = (old_hasher){with->hasher, file->old_hasher};
    file->old_hasher = old;
    with->hasher = NULL;
    tamis_filter_free(with);
    return TAMIS_OK;
}

static tamis_status reload(tamis_filter *filter, opened_file *file, bool *changed, tamis_error *err) {
    tamis__filter_source now = {.path = file->path};
    uint64_t head;
    tamis_filter *created;
    tamis_status status = tamis__filter_file_open(&now, err);
    if (status != TAMIS_OK)
        return status;
    status = hash_head(&now, &head, err);
    *changed = status == TAMIS_OK &&
               (!tamis__source_file_matches(filter->source_file, &now.st) || head != file->head_hash);
    if (*changed)
        status = load_filter(&created, &now, &file->options, err);
    if (now.fd >= 0)
        tamis__sys.close(now.fd);
    if (status == TAMIS_OK && *changed)
        status = swap(filter, created, file, err);
    if (status == TAMIS_OK)
        file->head_hash = head;
    return status;
}

tamis_status tamis_filter_reload(tamis_filter *filter, bool *changed, tamis_error *err) {
    TAMIS__NEED(filter, err);
    opened_file *file = (opened_file *)filter->opened;
    bool is_new = false;
    if (!file)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "reload: the filter was not opened from a file, or it is writable and would lose its added "
            "keys; open the file again");
    pthread_mutex_lock(&file->reloading);
    const tamis_status status = reload(filter, file, &is_new, err);
    pthread_mutex_unlock(&file->reloading);
    if (status == TAMIS_OK && changed)
        *changed = is_new;
    return status;
}
