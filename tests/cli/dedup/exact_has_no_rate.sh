# SPDX-License-Identifier: BSD-2-Clause
# A rate given with exact would be ignored, so it is refused.
tamis dedup --exact --fpr 1e-6
echo "$?"
tamis dedup --fpr 1e-6 --kind exact
echo "$?"
tamis dedup --kind exact --exact --fpr 1e-6
echo "$?"
