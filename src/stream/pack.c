/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Compression to a file. One block of memory holds everything but the library's own allocations:
 *
 *     | tamis__pack | state of the codec | output buffer |
 *
 * The buffer is passed on when its free space is less than a step needs (codec->need), and at each flush.
 */
#include "stream/pack.h"

#include <errno.h>

#include <tamis/stream.h>

#include "stream/pack_codec.h"

enum { BUFFER = 64 << 10 };

struct tamis__pack {
    const tamis__pack_codec *codec;
    tamis__lent memory;
    tamis__pack_out out;
    size_t whole; /* bytes of the whole block */
    void *state;
    unsigned char *buffer;
    size_t room; /* bytes of `buffer` */
    size_t used;
    bool unflushed; /* bytes were put since the last flush */
};

tamis_status tamis__pack_fail(const tamis__lent *memory, tamis_error *err) {
    if (memory->refused)
        return tamis__fail_nomem(err, "compression", memory->refused);
    return tamis__fail(err, TAMIS_E_NOMEM, ENOMEM,
                       "compression: out of memory; free memory, or lower its level");
}

/* ---- create and free ---- */

static int level_of(const tamis__pack_want *want, const tamis__pack_codec *codec) {
    return want->level == TAMIS_PACKING_LEVEL_0 ? 0 : want->level == 0 ? codec->usual : want->level;
}

tamis_status tamis__pack_check(const tamis__pack_want *want, tamis_error *err) {
    const int number = (int)want->packing;
    if (number <= TAMIS_PACKING_NONE || number >= TAMIS_PACKINGS)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "packing: there is none of number %d; see tamis_packing",
                           number);
    const tamis__pack_codec *codec = tamis__pack_codec_of(want->packing);
    const char *name = tamis_packing_name(want->packing);
    if (!codec->begin)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "%s: this build of tamis cannot write it; take gzip, or build tamis with its library", name);
    const int level = level_of(want, codec);
    if (level < codec->least || level > codec->most)
        return tamis__fail(err, TAMIS_E_RANGE, 0, "%s: has no level %d; give one from %d to %d", name, level,
                           codec->least, codec->most);
    return TAMIS_OK;
}

static size_t in_lines(size_t size) {
    return (size + TAMIS__LINE - 1) / TAMIS__LINE * TAMIS__LINE;
}

tamis_status tamis__pack_create(tamis__pack **pack, const tamis__pack_want *given,
                                const tamis_allocator *memory, const tamis__pack_out *out, tamis_error *err) {
    tamis__pack_want want = *given;
    tamis_status status = tamis__pack_check(&want, err);
    if (status != TAMIS_OK)
        return status;
    const tamis__pack_codec *codec = tamis__pack_codec_of(want.packing);
    const size_t head = in_lines(sizeof(tamis__pack)), state = in_lines(codec->state_size);
    const size_t room = codec->need > BUFFER ? codec->need : BUFFER;
    const size_t whole = head + state + room;
    unsigned char *block = tamis__alloc(memory, whole, TAMIS__LINE);
    if (!block)
        return tamis__fail_nomem(err, "compression", whole);
    tamis__pack *made = (tamis__pack *)(void *)block;
    *made = (tamis__pack){.codec = codec,
                          .memory = {*memory, 0},
                          .out = *out,
                          .whole = whole,
                          .state = block + head,
                          .buffer = block + head + state,
                          .room = room};
    want.level = level_of(given, codec);
    status = codec->begin(made->state, &want, &made->memory, err);
    if (status == TAMIS_OK)
        *pack = made;
    else
        tamis__free(memory, block, whole);
    return status;
}

void tamis__pack_free(tamis__pack *pack) {
    if (!pack)
        return;
    const tamis_allocator memory = pack->memory.from;
    pack->codec->end(pack->state);
    tamis__free(&memory, pack, pack->whole);
}

/* ---- compression ---- */

static tamis_status give_out(tamis__pack *p, tamis_error *err) {
    size_t used = p->used;
    p->used = 0;
    return used ? p->out.emit(p->out.context, p->buffer, used, err) : TAMIS_OK;
}

static tamis_status advance(tamis__pack *p, tamis__pack_step step, const void *bytes, size_t size,
                            tamis_error *err) {
    tamis__flow flow = {.in = bytes, .in_size = size};
    tamis_status status = TAMIS_OK;
    for (bool done = false; !done && status == TAMIS_OK;) {
        if (p->room - p->used < p->codec->need)
            status = give_out(p, err);
        if (status != TAMIS_OK)
            break;
        flow.out = p->buffer + p->used;
        flow.out_size = p->room - p->used;
        status = p->codec->step(p->state, step, &flow, &done, err);
        p->used = p->room - flow.out_size;
    }
    return status;
}

tamis_status tamis__pack_put(tamis__pack *pack, const void *bytes, size_t size, tamis_error *err) {
    if (size == 0)
        return TAMIS_OK;
    pack->unflushed = true;
    return advance(pack, TAMIS__PACK_PUT, bytes, size, err);
}

tamis_status tamis__pack_flush(tamis__pack *pack, tamis_error *err) {
    if (!pack->unflushed)
        return TAMIS_OK;
    pack->unflushed = false;
    tamis_status status = advance(pack, TAMIS__PACK_FLUSH, "", 0, err);
    return status == TAMIS_OK ? give_out(pack, err) : status;
}

tamis_status tamis__pack_finish(tamis__pack *pack, tamis_error *err) {
    tamis_status status = advance(pack, TAMIS__PACK_FINISH, "", 0, err);
    return status == TAMIS_OK ? give_out(pack, err) : status;
}
