# SPDX-License-Identifier: BSD-2-Clause
# A log was rotated away with unread bytes: a message mentions them.
run() { "$@"; echo "exit $?"; }
mkdir logs && seq 2000 > logs/app.log
run tamis dedup --state st logs/app.log -o out
seq 2001 2010 >> logs/app.log && mv logs/app.log logs/app.log.1 && seq 3000 5000 > logs/app.log
run tamis dedup --state st logs/app.log -o out
run tamis dedup --state st logs/app.log.1 -o out && tail -n 1 out # what the message is about
mv logs/app.log logs/app.log.2 && seq 6000 8000 > logs/app.log
run tamis dedup --state st logs/app.log -o out # all of it was read
echo more >> logs/app.log && { seq 9000 9999 && seq 9; } > logs/new && mv logs/new logs/app.log # another inode for certain
run tamis dedup --state st logs/app.log -o out
cp -r st st.2 && cp out out.2 && seq 20000 20005 >> logs/app.log && mv logs/app.log logs/app.log.3 && seq 100 > logs/app.log
run tamis dedup --state st.2 logs/app.log.3 logs/app.log -o out.2 && tail -n 1 out.2 # the list has it
