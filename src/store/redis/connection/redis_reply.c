/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Replies of a server, parsed by hiredis.
 *
 * hiredis calls a function for each part of a reply: a number, a text, an array. These functions take the
 * memory of the parts one after the other from chunks. The next call of tamis__replies_next reuses the
 * chunks, which frees the whole reply at once:
 *
 *     chunk  | root | items of root ...... | text, NUL | text, NUL | free ...
 *
 * 1. A reply has at most REPLY_MAX bytes, and a server cannot make the client allocate more.
 * 2. A reply is valid until the next call. Callers copy what they keep.
 *
 * Why not the parts that hiredis makes itself: it allocates and frees each of them. A batch of thousands of
 * lookups has as many parts.
 */
#include "store/redis/connection/redis_reply.h"

#include <hiredis/hiredis.h>
#include <string.h>

#include "base/memory.h"

enum {
    CHUNK = 16 << 10,
    /* Max. bytes of a reply. Our commands get shorter ones, so more is not from a Redis. */
    REPLY_MAX = 64 << 20,
};

typedef struct chunk {
    struct chunk *next;
    size_t capacity, used; /* of `bytes` */
    _Alignas(16) char bytes[];
} chunk;

struct tamis__replies {
    tamis_allocator allocator;
    redisReader *reader;
    chunk *first, *current; /* chunks before `current` are full */
    size_t held;            /* capacity of all chunks */
    tamis__reply *root;     /* the reply that is being parsed */
    bool out_of_memory;     /* an allocation failed */
    bool is_drained;        /* every byte fed belongs to a returned reply */
};

static void *alloc_memory(tamis__replies *replies, size_t size) {
    size = (size + 15) & ~(size_t)15;
    while (replies->current && replies->current->capacity - replies->current->used < size &&
           replies->current->next) {
        replies->current = replies->current->next;
        replies->current->used = 0;
    }
    if (!replies->current || replies->current->capacity - replies->current->used < size) {
        const size_t capacity = size > CHUNK ? size : CHUNK;
        /* One reply, and small chunks kept from earlier ones. */
        if (capacity > 2 * (size_t)REPLY_MAX - replies->held)
            return NULL;
        chunk *made = tamis__alloc(&replies->allocator, sizeof *made + capacity, _Alignof(chunk));
        if (!made) {
            replies->out_of_memory = true;
            return NULL;
        }
        made->capacity = capacity;
        replies->held += capacity;
        if (replies->current)
            replies->current->next = made;
        else
            replies->first = made;
        replies->current = made;
    }
    void *memory = replies->current->bytes + replies->current->used;
    replies->current->used += size;
    return memory;
}

/* Makes all chunks free for the next reply. Chunks above CHUNK were made for one large reply and are
 * freed. */
static void reset_memory(tamis__replies *replies) {
    chunk **block_link = &replies->first;
    while (*block_link) {
        chunk *block = *block_link;
        if (block->capacity > CHUNK) {
            *block_link = block->next;
            replies->held -= block->capacity;
            tamis__free(&replies->allocator, block, sizeof *block + block->capacity);
        } else {
            block_link = &block->next;
        }
    }
    replies->current = replies->first;
    if (replies->current)
        replies->current->used = 0;
    replies->root = NULL;
}

/* ---- callbacks of hiredis: NULL ends parsing with REDIS_ERR_OOM ---- */

static tamis__reply *reply_for(const redisReadTask *task) {
    tamis__replies *replies = task->privdata;
    if (task->parent)
        return (tamis__reply *)((tamis__reply *)task->parent->obj)->items + task->idx;
    replies->root = alloc_memory(replies, sizeof *replies->root);
    return replies->root;
}

static void *put_string(const redisReadTask *task, char *text, size_t size) {
    tamis__reply *reply = reply_for(task);
    char *copy = reply ? alloc_memory(task->privdata, size + 1) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    *reply = (tamis__reply){.text = copy, .size = size, .type = TAMIS__REPLY_STRING};
    if (task->type == REDIS_REPLY_ERROR)
        reply->type = TAMIS__REPLY_ERROR;
    if (task->type == REDIS_REPLY_STATUS)
        reply->type = TAMIS__REPLY_STATUS;
    return reply;
}

static void *put_integer(const redisReadTask *task, long long value) {
    tamis__reply *reply = reply_for(task);
    if (reply)
        *reply = (tamis__reply){.type = TAMIS__REPLY_INTEGER, .integer = value};
    return reply;
}

static void *put_nil(const redisReadTask *task) {
    tamis__reply *reply = reply_for(task);
    if (reply)
        *reply = (tamis__reply){.type = TAMIS__REPLY_NIL};
    return reply;
}

/* Refuses a count that no reply to our commands has, before it allocates anything. */
static void *put_items(const redisReadTask *task, size_t count) {
    tamis__reply *reply = reply_for(task);
    tamis__reply *items = NULL;
    if (reply && count <= REPLY_MAX / sizeof *items)
        items = alloc_memory(task->privdata, (count > 0 ? count : 1) * sizeof *items);
    if (!items)
        return NULL;
    for (size_t i = 0; i < count; i++)
        items[i] = (tamis__reply){.type = TAMIS__REPLY_NIL};
    *reply = (tamis__reply){.type = TAMIS__REPLY_ARRAY, .size = count, .items = items};
    return reply;
}

#if HIREDIS_MAJOR >= 1
static void *put_array(const redisReadTask *task, size_t count) {
    return put_items(task, count);
}
#else
static void *put_array(const redisReadTask *task, int count) {
    return put_items(task, (size_t)count);
}
#endif

static void free_nothing(void *reply) {
    (void)reply; /* reset_memory frees all parts at once */
}

#if HIREDIS_MAJOR >= 1
/* Types of RESP3, which we never request. A double becomes a string, which callers refuse where they need a
 * number. */
static void *put_double(const redisReadTask *task, double value, char *text, size_t size) {
    (void)value;
    return put_string(task, text, size);
}
static void *put_bool(const redisReadTask *task, int value) {
    (void)value;
    return put_nil(task);
}
#endif

static redisReplyObjectFunctions functions = {.createString = put_string,
#if HIREDIS_MAJOR >= 1
                                              .createDouble = put_double,
                                              .createBool = put_bool,
#endif
                                              .createArray = put_array,
                                              .createInteger = put_integer,
                                              .createNil = put_nil,
                                              .freeObject = free_nothing};

/* ---- replies ---- */

tamis__replies *tamis__replies_create(const tamis_allocator *allocator) {
    tamis__replies *replies = tamis__alloc(allocator, sizeof *replies, _Alignof(tamis__replies));
    if (!replies)
        return NULL;
    replies->allocator = *allocator;
    replies->reader = redisReaderCreateWithFunctions(&functions);
    if (!replies->reader) {
        tamis__free(allocator, replies, sizeof *replies);
        return NULL;
    }
    replies->reader->privdata = replies;
    replies->is_drained = true;
    return replies;
}

void tamis__replies_free(tamis__replies *replies) {
    if (!replies)
        return;
    for (chunk *block = replies->first, *next; block; block = next) {
        next = block->next;
        tamis__free(&replies->allocator, block, sizeof *block + block->capacity);
    }
    redisReaderFree(replies->reader);
    tamis_allocator allocator = replies->allocator;
    tamis__free(&allocator, replies, sizeof *replies);
}

static tamis_status fail_reader(const tamis__replies *replies, tamis_error *err) {
    if (replies->out_of_memory || replies->reader->err == REDIS_ERR_OOM)
        return tamis__fail(err, TAMIS_E_NOMEM, 0,
                           "redis: out of memory for a reply; free some, or raise the limit");
    return tamis__fail(err, TAMIS_E_IO, 0,
                       "redis: the server sent bytes that are not a reply (%s); is it a Redis at that port?",
                       replies->reader->errstr);
}

tamis_status tamis__replies_feed(tamis__replies *replies, const char *bytes, size_t size, tamis_error *err) {
    if (replies->reader->len - replies->reader->pos > REPLY_MAX)
        return tamis__fail(err, TAMIS_E_IO, 0,
                           "redis: sent a reply without end, %d MiB until now; is it a Redis at that port?",
                           REPLY_MAX >> 20);
    replies->is_drained = replies->is_drained && size == 0;
    return redisReaderFeed(replies->reader, bytes, size) == REDIS_OK ? TAMIS_OK : fail_reader(replies, err);
}

bool tamis__replies_is_drained(const tamis__replies *replies) {
    return replies->is_drained;
}

tamis_status tamis__replies_next(tamis__replies *replies, const tamis__reply **reply, tamis_error *err) {
    void *whole = NULL;
    if (replies->reader->reply == NULL && replies->reader->ridx < 0)
        reset_memory(replies); /* no reply is half parsed */
    if (!replies->is_drained && redisReaderGetReply(replies->reader, &whole) != REDIS_OK)
        return fail_reader(replies, err);
    if (whole)
        replies->is_drained = replies->reader->pos == replies->reader->len;
    *reply = whole;
    return TAMIS_OK;
}
