/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/core/cli_action.h"

#include <stdio.h>
#include <string.h>

#include "cli/core/cli_option.h"
#include "cli/server/cli_server.h"

/* "set, get or op" */
static void list_actions(const cli_actions *actions, char *list, size_t size) {
    size_t used = 0;

    for (size_t i = 0; i < actions->count && used < size; i++) {
        const char *between = i == 0 ? "" : i + 1 < actions->count ? ", " : " or ";
        used += (size_t)snprintf(list + used, size - used, "%s%s", between, actions->list[i].name);
    }
}

static tamis_status fail_unknown(const cli_actions *actions, const char *name, tamis_error *err) {
    char list[120], shown[CLI_SERVER_SHOWN];

    list_actions(actions, list, sizeof list);
    if (!name)
        return cli_fail(err, "%s: what to do is missing; give %s", actions->command, list);
    return cli_fail(err, "%s: '%.60s' is not known; give %s", actions->command, cli_server_show(name, shown),
                    list);
}

static tamis_status check_arguments(const cli_actions *actions, const cli_action *action,
                                    const cli_args *args, const cli_option *options, tamis_error *err) {
    const char *command = actions->command, *name = action->name;
    const size_t count = args->operand_count;

    if (count < 2 || count - 2 < action->min_operands || count - 2 > action->max_operands)
        return cli_fail(err, "%s %s: takes %s; see tamis help %s", command, name, action->operands_text,
                        command);
    if (!cli_server_is_uri(args->operands[1]))
        return cli_fail(err, "%s %s: '%.200s' is not a URI; write %s", command, name, args->operands[1],
                        actions->uri);
    for (int i = 0; i < CLI_OPTIONS_MAX; i++)
        if (args->values[i].given && (action->options >> i & 1) == 0)
            return cli_fail(err, "--%s: is not for %s %s; leave it out", cli_option_of(options, i)->name,
                            command, name);
    return TAMIS_OK;
}

tamis_status cli_action_find(size_t *found, const cli_actions *actions, const cli_args *args,
                             const cli_option *options, tamis_error *err) {
    const char *name = args->operand_count > 0 ? args->operands[0] : NULL;
    size_t i = 0;

    while (name && i < actions->count && strcmp(actions->list[i].name, name) != 0)
        i++;
    if (!name || i == actions->count)
        return fail_unknown(actions, name, err);
    *found = i;
    return check_arguments(actions, &actions->list[i], args, options, err);
}
