# SPDX-License-Identifier: BSD-2-Clause
# The summary is on standard error; --json is one object.
printf 'a\nb\na\n' > in
tamis build --frozen -o f.tamis in --stats
tamis build --frozen -o f.tamis in --json
