# SPDX-License-Identifier: BSD-2-Clause
# One is not many, no count is told that is none, and a rate that is claimed only is told as that.
echo a > in
tamis build -q -o poor --kind classic --scheme bkdr31 --expect 1 --fpr 0.01 in
tamis info poor | grep -e capacity -e rate -e keys
tamis clear -q poor
tamis info poor | grep keys
