/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Regular expressions by PCRE2, with machine code (JIT) where PCRE2 supports the processor.
 *
 *     pattern     regex:"id":"([^"]+)".*"at":([0-9]+)
 *     record      {"id":"a7","at":123}
 *     ovector     | whole match | group 1 | group 2 |       a pair of offsets each
 *     values                      a7        123             without groups: the whole match
 *
 * 1. The code of a pattern is constant. Copies for other threads share it, and have their own match data and
 *    stack.
 * 2. A group that took no part in the match has no value (NULL), which is not an empty one.
 *
 * Matching has limits on steps and memory, so that no match runs for ever. A record that reaches a limit is
 * reported as malformed, not skipped. PCRE2 counts the steps from 0 at each start position. So a pattern that
 * scans the rest of the record at every position and never matches takes quadratic time in the size of the
 * record.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdio.h>

#include "stream/codec/codec_alloc.h"
#include "stream/extract/find.h"

enum {
    STEPS = 10 * 1000 * 1000,      /* steps from one start position; under a second in the interpreter */
    STACK_FIRST = 32 << 10,        /* initial stack of the machine code, in bytes */
    STACK_MAX = 64 << 20,          /* its limit; memory is taken as it is used */
    HEAP_MAX_KIB = STACK_MAX >> 8, /* limit of the interpreter, which needs about four times as much */
};

struct tamis__regex {
    tamis__codec_memory memory;
    pcre2_general_context *general;
    pcre2_compile_context *rules; /* NULL: a copy, which shares the code of its original */
    pcre2_code *code;
    pcre2_match_context *limits;
    pcre2_match_data *match;
    pcre2_jit_stack *stack; /* NULL: no machine code */
    size_t groups;
};

/* ---- create and free ---- */

static void *alloc_pcre2(size_t size, void *memory) {
    return tamis__codec_alloc(memory, 1, size);
}

static void free_pcre2(void *block, void *memory) {
    tamis__codec_free(memory, block);
}

static void explain(int error, char text[TAMIS__REGEX_WHY]) {
    PCRE2_UCHAR words[TAMIS__REGEX_WHY];
    if (pcre2_get_error_message(error, words, sizeof words) == PCRE2_ERROR_BADDATA)
        snprintf(text, TAMIS__REGEX_WHY, "PCRE2's error %d", error);
    else /* a message that is too long is cut */
        snprintf(text, TAMIS__REGEX_WHY, "%s", (const char *)words);
}

static tamis_status compile(tamis__regex *r, const char *pattern, uint32_t options,
                            char text[TAMIS__REGEX_WHY], size_t *pos) {
    int error;
    PCRE2_SIZE offset;
    pcre2_code_free(r->code);
    r->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &error, &offset, r->rules);
    if (r->code)
        return TAMIS_OK;
    if (error == PCRE2_ERROR_HEAP_FAILED)
        return TAMIS_E_NOMEM;
    explain(error, text);
    *pos = offset;
    return TAMIS_E_INVALID;
}

static bool create_limits(tamis__regex *r) {
    r->general = pcre2_general_context_create(alloc_pcre2, free_pcre2, &r->memory);
    if (!r->general)
        return false;
    r->limits = pcre2_match_context_create(r->general);
    if (!r->limits)
        return false;
    pcre2_set_match_limit(r->limits, STEPS);
    pcre2_set_heap_limit(r->limits, HEAP_MAX_KIB);
    return true;
}

static bool create_rules(tamis__regex *r) {
    r->rules = pcre2_compile_context_create(r->general);
    if (r->rules)
        pcre2_set_newline(r->rules, PCRE2_NEWLINE_LF); /* independent of this PCRE2's default */
    return r->rules;
}

static bool create_stack(tamis__regex *r) {
    r->stack = pcre2_jit_stack_create(STACK_FIRST, STACK_MAX, r->general);
    if (r->stack)
        pcre2_jit_stack_assign(r->limits, NULL, r->stack);
    return r->stack;
}

static tamis_status init_regex(tamis__regex *r, const char *pattern, char text[TAMIS__REGEX_WHY],
                               size_t *pos) {
    uint32_t options = 0, groups = 0;
    if (!create_limits(r) || !create_rules(r))
        return TAMIS_E_NOMEM;
    tamis_status status = compile(r, pattern, 0, text, pos);
    if (status != TAMIS_OK)
        return status;
    /* For a UTF-8 pattern: invalid UTF-8 in a record matches nothing, and is not an error. */
    pcre2_pattern_info(r->code, PCRE2_INFO_ALLOPTIONS, &options);
    if (options & PCRE2_UTF)
        status = compile(r, pattern, PCRE2_MATCH_INVALID_UTF, text, pos);
    if (status != TAMIS_OK)
        return status;
    pcre2_pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &groups);
    r->groups = groups;
    r->match = pcre2_match_data_create_from_pattern(r->code, r->general);
    if (!r->match)
        return TAMIS_E_NOMEM;
    /* Some systems forbid machine code. Matching is then slower, with the same results. */
    const bool machine = pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE) == 0;
    return !machine || create_stack(r) ? TAMIS_OK : TAMIS_E_NOMEM;
}

tamis_status tamis__regex_create(tamis__regex **regex, const char *pattern, const tamis_allocator *memory,
                                 char text[TAMIS__REGEX_WHY], size_t *pos) {
    tamis__regex *made = tamis__alloc(memory, sizeof *made, TAMIS__LINE);
    if (!made) {
        *pos = sizeof *made;
        return TAMIS_E_NOMEM;
    }
    made->memory.from = *memory;
    const tamis_status status = init_regex(made, pattern, text, pos);
    if (status == TAMIS_E_NOMEM)
        *pos = made->memory.refused;
    if (status == TAMIS_OK)
        *regex = made;
    else
        tamis__regex_free(made);
    return status;
}

tamis_status tamis__regex_copy(tamis__regex **copy, const tamis__regex *original) {
    tamis__regex *made = tamis__alloc(&original->memory.from, sizeof *made, TAMIS__LINE);
    if (!made)
        return TAMIS_E_NOMEM;
    made->memory.from = original->memory.from;
    made->code = original->code;
    made->groups = original->groups;
    if (create_limits(made))
        made->match = pcre2_match_data_create_from_pattern(made->code, made->general);
    if (made->match && (!original->stack || create_stack(made))) {
        *copy = made;
        return TAMIS_OK;
    }
    tamis__regex_free(made);
    return TAMIS_E_NOMEM;
}

void tamis__regex_free(tamis__regex *regex) {
    if (!regex)
        return;
    const tamis_allocator memory = regex->memory.from;
    pcre2_jit_stack_free(regex->stack);
    pcre2_match_data_free(regex->match);
    if (regex->rules)
        pcre2_code_free(regex->code);
    pcre2_match_context_free(regex->limits);
    pcre2_compile_context_free(regex->rules);
    pcre2_general_context_free(regex->general);
    tamis__free(&memory, regex, sizeof *regex);
}

/* ---- matching ---- */

size_t tamis__regex_values(const tamis__regex *regex) {
    return regex->groups ? regex->groups : 1;
}

/* Returns the value of a pair of offsets. With \K a match may begin after its end; then it is empty. */
static tamis_key value_of(const unsigned char *bytes, const PCRE2_SIZE *pair) {
    if (pair[0] == PCRE2_UNSET)
        return (tamis_key){NULL, 0};
    return (tamis_key){bytes + pair[0], pair[1] > pair[0] ? pair[1] - pair[0] : 0};
}

tamis_status tamis__regex_find(tamis__regex *regex, tamis_key record, tamis_key *values, bool *matched,
                               tamis__fault *fault) {
    const unsigned char *bytes = record.data;
    const int result = pcre2_match(regex->code, bytes, record.size, 0, 0, regex->match, regex->limits);
    *matched = result > 0;
    if (result == PCRE2_ERROR_NOMATCH)
        return TAMIS_OK;
    if (result == PCRE2_ERROR_NOMEMORY)
        return TAMIS_E_NOMEM;
    if (result < 0) { /* a limit; no other error is possible */
        *fault = (tamis__fault){"matching the expression takes too many steps back, or too much memory", 0};
        return TAMIS_E_DAMAGED;
    }
    const PCRE2_SIZE *pairs = pcre2_get_ovector_pointer(regex->match);
    const size_t first = regex->groups ? 1 : 0; /* pair 0 is the whole match */
    for (size_t i = 0; i < tamis__regex_values(regex); i++)
        values[i] = value_of(bytes, pairs + 2 * (first + i));
    return TAMIS_OK;
}
