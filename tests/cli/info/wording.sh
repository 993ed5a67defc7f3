# SPDX-License-Identifier: BSD-2-Clause
# Singular and plural; unknown counts are left out; a rate that is only claimed is described as such.
echo a > in
tamis build -q -o poor --kind classic --scheme bkdr31 --expect 1 --fpr 0.01 in
tamis info poor | grep -e capacity -e rate -e keys
tamis clear -q poor
tamis info poor | grep keys
