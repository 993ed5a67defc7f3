# SPDX-License-Identifier: BSD-2-Clause
"""dashboard.py URL FILE: each metric that the Grafana dashboard FILE queries is served at URL."""
import json
import re
import sys
import urllib.request

served = set(re.findall(r"^(tamis_\w+)", urllib.request.urlopen(sys.argv[1], timeout=30).read().decode(), re.M))
with open(sys.argv[2], encoding="utf-8") as file:
    panels = json.load(file)["panels"]
queried = {name for panel in panels for target in panel["targets"] for name in re.findall(r"tamis_\w+", target["expr"])}
missing = sorted(queried - served)
assert len(queried) > 15 and not missing, missing
