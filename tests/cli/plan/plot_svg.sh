# SPDX-License-Identifier: BSD-2-Clause
# The picture is well-formed, has no external references, and its curves pass through the right points.
tamis plan --plot -o curve.svg
tamis plan --plot --output - | cmp - curve.svg
python3 - << 'END'
import math, re
import xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
root = tree.parse("curve.svg").getroot()
print(root.tag == svg + "svg", root.get("viewBox"), root.find(svg + "title").text)
print(root.find(svg + "desc").text)
texts = ["".join(text.itertext()) for text in root.iter(svg + "text")]
places = {}
for text in root.iter(svg + "text"):
    places.setdefault("".join(text.itertext()), []).append((float(text.get("x", 0)), float(text.get("y", 0))))
print([text for text in texts if not re.fullmatch(r"[0-9.]+( %|×)?", text)])
# The scales, computed from the labelled ticks.
x0, x4 = places["0"][0][0], places["4"][0][0]
y_all, y_least = places["100 %"][0][1] - 5, places["0.01 %"][0][1] - 5
for line, rate in zip(root.iter(svg + "polyline"), (0.1, 0.01, 0.001)):
    points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
    worst = 0
    for x, y in points:
        t = 4 * (x - x0) / (x4 - x0)
        f = 10 ** (-4 * (y - y_all) / (y_least - y_all))
        worst = max(worst, abs(f / (1 - 0.5 ** t) ** -math.log2(rate) - 1))
    print(len(points), points[0][1] <= y_least + 0.01, points[-1][0] == x4, worst < 2e-3)
inside = [float(e.get(a)) for e in root.iter() for a in ("x", "y", "x1", "y1", "x2", "y2", "cx", "cy") if e.get(a)]
print(min(inside) >= 0, max(inside) <= 800)
print([e.tag for e in root.iter() for a in e.attrib if "href" in a or a == "style"])
END
