# SPDX-License-Identifier: BSD-2-Clause
# CSV records: a column by number or by its name in the header, with quotes and newlines in fields.
printf 'id,email,"last, first"\n1,a@x,"B ""b""\nB"\n2,"a@x",C\n3,c@x,C\n' > u.csv
echo by name; tamis dedup --key csv:email u.csv
echo by number; tamis dedup --key csv:2 --header u.csv
echo no header; tamis dedup --key csv:2 u.csv
echo a comma in the name; tamis dedup --key 'csv:"last, first"' u.csv
echo a delimiter; printf 'a;b\n1;"x"\n2;x\n' | tamis dedup --key csv:b --delimiter ';'
echo a mark, and CRLF; printf '\357\273\277id,n\r\n1,a\r\n1,b\r\n' | tamis dedup --key csv:id | od -An -c
echo two files, one header
printf 'id,email,"last, first"\n4,c@x,D\n5,d@x,D\n' > more.csv
tamis dedup --key csv:email u.csv more.csv
echo other headers
printf 'mail,id\nd@x,9\n' > other.csv
tamis dedup --key csv:email u.csv other.csv
echo "status $?"
long='a column whose name is long, and another one, until sixty bytes'
printf '%s,m1,x\n1\n' "$long" > long.csv
printf '%s,m2,y\n1\n' "$long" > longer.csv
printf '%s,m1\n1\n' "$long" > part.csv
tamis dedup --header long.csv longer.csv
tamis dedup --header long.csv part.csv
tamis dedup --header part.csv u.csv
echo "status $?"
tamis dedup --key csv:mail u.csv
printf 'id;mail\n1;a@x\n' | tamis dedup --key csv:mail
printf ' mail,n\na@x,1\n' | tamis dedup --key csv:mail
echo "status $?"
echo marks of two files
printf '\357\273\277id,n\r\n1,a\r\n' > one.csv
printf '\357\273\277id,n\r\n1,b\r\n2,c\r\n' > two.csv
tamis dedup --key csv:id one.csv two.csv -o out && od -An -c out
echo a quote that is not closed
printf 'id,n\n1,"a\n2,b\n3,c\n' | tamis dedup --key csv:id --max-record 10
echo "status $?"
