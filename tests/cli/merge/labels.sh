# SPDX-License-Identifier: BSD-2-Clause
# The union has the labels of all filters. If labels have the same name, the first is kept, and a remark says
# so; --label overrides them.
echo a > in
make() { tamis build -o "$1" --kind classic --expect 100 --fpr 1e-3 "${@:2}" in; }
labels() { tamis info "$1" | grep -E 'version|=' | sed 's/labels  */               /'; }
make 1 --label from=one --label a=1 --data-version 3
make 2 --label from=two --label b=2 --label same=x --data-version 4
make 3 --label from=three --label b=3 --label same=x --label z=
tamis merge -o all 1 2 3
labels all
tamis merge -q -o all 1 2 3
tamis merge -o all 3 2 --label b=new --label from=all --label a=0 --data-version 0x10
labels all
tamis merge -o all 1 2 --label b
tamis merge -o all 1 2 --label b=1 --label b=2
tamis merge -o all 1 --label "$(printf '%0256d' 7)=x"
labels all
make g --scheme guava64 -q --label a=1
tamis copy -q -o g.guava --format guava g
tamis merge -o u g.guava g
tamis merge -o u --format tamis g.guava g && labels u
tamis merge -o v --label a=2 g.guava g
tamis merge -o v --data-version 1 g.guava g
tamis merge -o v --data-version 0 g.guava
ls
