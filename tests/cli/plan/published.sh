# SPDX-License-Identifier: BSD-2-Clause
# The published numbers, and the exact ones if they differ: as text of at most 100 columns, and as an object.
tamis plan --table > table
cat table
awk 'length > 100 || / $/ { print "too wide, or blanks at its end: " $0 }' table
tamis plan --table --json > object
python3 - << 'END'
import json, math
table = json.load(open("object"))
for row in table["rates"]:
    n, m, k = row["expect"], row["expect"] * row["bits_per_key"], row["probes"]
    rate = -math.expm1(k * n * math.log1p(-1 / m))
    assert math.isclose(row["fpr"], rate ** k, rel_tol=1e-8), row
    assert math.isclose(row["false_positives"], n * rate ** k, rel_tol=1e-8), row
    assert abs(row["fpr"] / row["fpr_published"] - 1) < 3e-3, row
print([row["bits_published"] for row in table["sizes"]])
print([row["bits"] for row in table["sizes"]])
for row in table["sizes"]:
    assert row["memory"] == row["bits"] // 8 and abs(row["memory"] / row["memory_published"] - 1) < 2e-3, row
for row in table["rules"]:
    print(f'{row["published"]:g} {row["exact"]:.4g}')
END
