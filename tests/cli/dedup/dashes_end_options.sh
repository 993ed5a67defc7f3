# SPDX-License-Identifier: BSD-2-Clause
# Words after -- are files, even if they look like options.
printf 'a\na\n' > --count
tamis dedup -- --count
