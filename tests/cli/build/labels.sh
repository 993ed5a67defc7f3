# SPDX-License-Identifier: BSD-2-Clause
# The labels of a filter are in its file; the same input gives the same filter.
echo a > in
tamis build -o f.tamis --data-version 300 --label source=in --label 'note=a = b' --label empty= in
grep -aoE 'source|note|empty|a = b' f.tamis | sort
tamis check f.tamis in
