# SPDX-License-Identifier: BSD-2-Clause
# A filter of kind exact from which all keys were removed has none, though some adds may have been answered wrongly.
seq 1000 > in
tamis build -o f.tamis --kind exact in
tamis remove f.tamis in
tamis info f.tamis | grep keys
