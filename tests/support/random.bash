# SPDX-License-Identifier: BSD-2-Clause
# What comparisons on random input begin with: source "$TAMIS_SOURCE_DIR/tests/support/random.bash", once the other side
# is known to be there. Prints $seed, and makes $work, an empty folder that goes with the script.
seed=${TAMIS_TEST_SEED-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "seed: TAMIS_TEST_SEED=$seed"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# scaled QUICK FULL TORTURE: the number that TAMIS_TEST_SCALE asks for.
scaled() {
    case ${TAMIS_TEST_SCALE-full} in
        quick | sanitizer) echo "$1" ;;
        torture) echo "$3" ;;
        *) echo "$2" ;;
    esac
}
