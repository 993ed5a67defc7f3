# SPDX-License-Identifier: BSD-2-Clause
# ctest: not-sanitized
# All kinds and schemes: every promise is kept, and the BKDR claims are missed. It takes too long for the
# quick scale.
case ${TAMIS_TEST_SCALE:-full} in
full | torture) ;;
*) cat "${0%.sh}.out"; exit 0 ;;
esac
tamis plan --measure > list
echo "status $?"
awk 'length > 100 || / $/ { print "too wide, or blanks at its end: " $0 }' list
sed -n '/^Kinds/,/^bits:/p' list | grep -E '^[a-z]+ +[a-z0-9-]+ +[0-9.]+ ' | sed -E 's/.*  //' | sort | uniq -c | tr -s ' '
# The rate of the published scheme, for which 1e-9 is claimed.
grep -E '^classic +bkdr63 +50\.0 +1e-9 ' list | sed -n 1p | awk '$6 > 2e-3 && $6 < 3e-3 { print "about 2.5e-3" }'
