# SPDX-License-Identifier: BSD-2-Clause
# The summary is on standard error, in lines that align; --json is one object.
printf 'a\nb\n' > in
tamis build -o f.tamis in
printf 'a\nx\ny\n' | tamis check f.tamis --stats
printf 'a\nx\ny\n' | tamis check f.tamis --json -c
