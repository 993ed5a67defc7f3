/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/server/cli_members.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/core/cli_text.h"
#include "cli/server/cli_bounded_filter.h"
#include "cli/server/cli_server.h"

enum { NAME = 512, SLOTS = 1024, MEMBERS_QUERIED = 64 };

/*
 * A majority vote over the names of one hash slot. An add to the stored name counts up, an add to another name counts down. At
 * 0 the next name takes the slot. A name with more than half of the slot's adds is therefore in the slot at the end.
 */
typedef struct slot {
    uint64_t adds;   /* count of the vote; 0: free */
    size_t size;     /* size of the name */
    char name[NAME]; /* name of a member */
} slot;

struct cli_members {
    slot slots[SLOTS];
};

cli_members *cli_members_create(void) {
    return calloc(1, sizeof(cli_members));
}

static size_t slot_index(const tamis_key *name) {
    const unsigned char *at = name->data;
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < name->size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return (size_t)(hash >> 32) % SLOTS;
}

static void note_member(slot *own, const tamis_key *name) {
    if (own->adds > 0 && (own->size != name->size || memcmp(own->name, name->data, name->size) != 0)) {
        own->adds--;
        return;
    }
    if (own->adds++ == 0) {
        own->size = name->size;
        memcpy(own->name, name->data, name->size);
    }
}

void cli_members_note(cli_members *members, const tamis_redis_pair *pairs, const tamis_answer *answers,
                      size_t count) {
    for (size_t i = 0; members != NULL && i < count; i++)
        if (answers[i] != TAMIS_PRESENT && pairs[i].name.size <= NAME)
            note_member(&members->slots[slot_index(&pairs[i].name)], &pairs[i].name);
}

static int by_adds(const void *left, const void *right) {
    const slot *a = left, *b = right;

    return (a->adds < b->adds) - (a->adds > b->adds);
}

static void report_member(const slot *worst, const tamis_filter_info *info, size_t count,
                          const tamis_redis_family *family, const char *uri) {
    const tamis_plan *plan = tamis_redis_family_plan(family);
    char message[CLI_SERVER_SHOWN + CLI_SERVER_NAME + 600], shown[CLI_SERVER_SHOWN], name[CLI_SERVER_NAME],
        holds[CLI_TEXT_NUMBER], made[CLI_TEXT_NUMBER], now[CLI_TEXT_NUMBER], more[80] = "", why[160];

    if (info->saturated)
        snprintf(why, sizeof why, "holds %s%s keys and was made for %s",
                 isfinite(info->cardinality) ? "about " : "",
                 isfinite(info->cardinality) ? cli_text_expected(holds, sizeof holds, info->cardinality)
                                             : "an untold number of",
                 cli_text_count(made, sizeof made, plan->capacity));
    else
        snprintf(why, sizeof why, "has most of its bits set");
    if (count > 1)
        snprintf(more, sizeof more, " (and %zu more that got much are too full)", count - 1);
    snprintf(message, sizeof message, "%.300s: %.200s %s, so its rate is now about %s%s; %s",
             cli_server_show(uri, shown), cli_server_encode(name, worst->name, worst->size), why,
             cli_text_real(now, sizeof now, info->fpr_live), more,
             info->saturated ? "give a family of another name a larger expect"
                             : "give a family of another name more bits");
    cli_report(message);
}

void cli_members_report(cli_members *members, const tamis_redis_family *family, const char *uri) {
    tamis_filter_info worst = TAMIS_FILTER_INFO_INIT;
    const slot *fullest = NULL;
    size_t count = 0;

    if (members == NULL)
        return;
    qsort(members->slots, SLOTS, sizeof members->slots[0], by_adds);
    for (size_t i = 0; i < MEMBERS_QUERIED && members->slots[i].adds > 0; i++) {
        const slot *own = &members->slots[i];
        tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
        if (tamis_redis_family_info(family, own->name, own->size, &info, NULL) != TAMIS_OK)
            return; /* all keys are added, so a missing remark is no error */
        if (!info.saturated && !cli_bounded_filter_is_dense(&info, tamis_redis_family_plan(family), uri))
            continue;
        if (count++ == 0 || info.fpr_live > worst.fpr_live) {
            worst = info;
            fullest = own;
        }
    }
    if (count > 0)
        report_member(fullest, &worst, count, family, uri);
}
