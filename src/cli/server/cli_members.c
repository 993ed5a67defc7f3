/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/server/cli_members.h"

#include <math.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/core/cli_text.h"
#include "cli/server/cli_server.h"

enum { MEMBERS_QUERIED = 64 };

void cli_members_note(tamis_heavy_hitters *members, const tamis_redis_pair *pairs,
                      const tamis_answer *answers, size_t count) {
    for (size_t i = 0; members && i < count; i++)
        if (answers[i] != TAMIS_PRESENT)
            tamis_heavy_hitters_add_many(members, &pairs[i].name, 1);
}

static void report_member(const tamis_key *worst, const tamis_filter_info *info, size_t count,
                          const tamis_redis_family *family, const char *uri) {
    const tamis_plan *plan = tamis_redis_family_plan(family);
    char message[CLI_SERVER_SHOWN + CLI_SERVER_NAME + 600], shown[CLI_SERVER_SHOWN], name[CLI_SERVER_NAME],
        holds[CLI_TEXT_NUMBER], made[CLI_TEXT_NUMBER], now[CLI_TEXT_NUMBER], more[80] = "", why[160];

    if (info->saturated)
        snprintf(why, sizeof why, "holds %s%s keys and was made for %s",
                 isfinite(info->cardinality) ? "about " : "",
                 isfinite(info->cardinality) ? cli_text_expected(holds, sizeof holds, info->cardinality)
                                             : "an unknown number of",
                 cli_text_count(made, sizeof made, plan->capacity));
    else
        snprintf(why, sizeof why, "has most of its bits set");
    if (count > 1)
        snprintf(more, sizeof more, " (%zu more member%s too full)", count - 1, count > 2 ? "s are" : " is");
    snprintf(message, sizeof message, "%.300s: %.200s %s, so its rate is now about %s%s; %s",
             cli_server_show(uri, shown), cli_server_encode(name, worst->data, worst->size), why,
             cli_text_real(now, sizeof now, info->fpr_live), more,
             info->saturated ? "use a family with another name and a larger expect"
                             : "use a family with another name and more bits");
    cli_report(message);
}

void cli_members_report(const tamis_heavy_hitters *members, const tamis_redis_family *family,
                        const char *uri) {
    tamis_filter_info worst = TAMIS_FILTER_INFO_INIT;
    tamis_heavy_hitter list[MEMBERS_QUERIED];
    const tamis_key *fullest = NULL;
    size_t listed, count = 0;

    if (!members)
        return;
    listed = tamis_heavy_hitters_list(members, list, MEMBERS_QUERIED);
    for (size_t i = 0; i < listed; i++) {
        const tamis_key *name = &list[i].key;
        tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
        if (tamis_redis_family_info(family, name->data, name->size, &info, NULL) != TAMIS_OK)
            return; /* all keys are added, so a missing remark is not an error */
        if (!info.saturated && !cli_server_is_dense(&info, tamis_redis_family_plan(family), uri))
            continue;
        if (count++ == 0 || info.fpr_live > worst.fpr_live) {
            worst = info;
            fullest = name;
        }
    }
    if (count > 0)
        report_member(fullest, &worst, count, family, uri);
}
