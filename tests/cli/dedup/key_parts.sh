# SPDX-License-Identifier: BSD-2-Clause
# The parts of a record that are its key: each kind of part, and several parts.
printf 'x\t1\ta\ny\t1\nz\t2\nonly\n' > t
echo field; tamis dedup --key field:2 t
echo field by comma; printf 'a,1\nb,1\n,\n' | tamis dedup --key field:2 --delimiter ,
echo field by name; printf 'a;1\nb;1\n' | tamis dedup --key field:2 --delimiter semicolon
printf 'a\t1\nb\t1\n' | tamis dedup --key field:2 --delimiter '\t' | tr '\t' ' '
printf 'a\0001\nb\0001\n' | tamis dedup --key field:2 --delimiter nul | tr '\0' ' '
echo bytes; printf 'abc1\nabc2\nab\nz\n' | tamis dedup --key bytes:1-3
echo bytes to the end; printf 'xabc\nyabc\nz\n' | tamis dedup --key bytes:2-
echo regex; printf 'user=1 a\nuser=2\nb user=1\nnone\n' | tamis dedup --key 'regex:user=(\d+)'
echo line; printf 'a\na\nb\n' | tamis dedup --key line
echo two; printf 'ab\tc\na\tbc\nab\tc\tz\n' | tamis dedup --key field:1 --key field:2
echo zero; printf 'a\t1\0b\t1\0' | tamis dedup -z --key field:2 | tr '\0\t' '\n '
echo numbers; printf 'a\t7\nb\t007\nc\t+7\nd\t8\n' | tamis dedup --key field:2 --type int64
echo a carriage return that ends a line
printf 'x\ta\r\ny\ta\n' > crlf
for part in field:2 bytes:3- 'regex:\t(.*)'; do
    echo "$part: $(tamis dedup --count --key "$part" crlf) $(tamis dedup --count --trim --key "$part" crlf)"
done
