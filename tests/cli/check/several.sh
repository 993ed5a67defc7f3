# SPDX-License-Identifier: BSD-2-Clause
# Several filters: the names of those that match, a tab, the record; of any kind, scheme and secret.
printf '%s\n' a b > ab
printf '%s\n' b c > bc
head -c 32 /dev/zero > secret
tamis build -o one ab
tamis build -o two --kind blocked bc
tamis build -o three --format guava bc
tamis build -o four --kind classic --scheme bkdr31 ab
tamis build -o five --secret-file secret bc
tamis build -o six --seed 9 bc
printf '%s\n' a b c d > asked
tamis check -f one -f two asked
echo "status $?"
tamis check -f one -f two -f three -f four -f six asked
tamis check -f one -f five --secret-file secret asked
tamis check -f one -f two -v asked
tamis check -f one -f two -c asked
tamis check -f one -f two -q -k c
echo "status $?"
tamis check -f one -f two -k c -k d -k b
tamis check -f one asked
printf 'b\0' | tamis check -z -f one -f one -f two | od -An -c
tamis check -f one -f five asked
echo "status $?"
tamis check -f one -f two --secret-file secret asked
echo "status $?"
tamis check -f one -f missing asked
echo "status $?"
printf 'key,n\na,1\nc,2\nx,3\n' > table
tamis check -f one -f two --key csv:key table
