# SPDX-License-Identifier: BSD-2-Clause
# Seed and directory for comparisons on random input. Source "$TAMIS_SOURCE_DIR/tests/support/random.bash"
# after checking that the other program is installed. Prints $seed, and makes $work, an empty directory that
# is removed at the end.
seed=${TAMIS_TEST_SEED-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "seed: TAMIS_TEST_SEED=$seed"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# scaled QUICK FULL TORTURE: prints the number for TAMIS_TEST_SCALE.
scaled() {
    case ${TAMIS_TEST_SCALE-full} in
        quick | sanitizer) echo "$1" ;;
        torture) echo "$3" ;;
        *) echo "$2" ;;
    esac
}
