# SPDX-License-Identifier: BSD-2-Clause
# A copy may have other labels: a label replaces one of the same name.
echo a > in
tamis build -o f --kind classic --scheme guava64 -q --label a=1 --label b=2 --data-version 3 in
tamis copy -o g --label b=new --label c= f
tamis info g | grep -E 'version|='
tamis copy -o g --data-version 4 g
tamis info g | grep version
tamis copy -o g --data-version 0 g
tamis info g | grep version
tamis copy -o h --format guava --label a=1 f
tamis copy -o h --format guava --data-version 1 f
tamis build -o h --format guava --label a=1 in
tamis build -o h --format dcso --data-version 1 in
tamis copy -o h --label =x f
tamis copy -o h --format guava f
tamis copy -o i --label a=1 h
tamis copy -o i --format tamis --label a=1 h
tamis info i | grep =
cmp <(tamis info f | grep created) <(tamis info g | grep created) && ls
