# SPDX-License-Identifier: BSD-2-Clause
# --check prints the number of keyspaces, or the first error with its line.
tamis serve --check "$TAMIS_SOURCE_DIR/docs/examples/guard/demo.yaml" > checked 2>&1 || { grep -q 'built without' checked && exit 77; }
sed 's,.*/docs/,docs/,' checked
cat > two.yaml <<'END'
database: {sqlite: memory, init: rows.sql}
keyspaces:
  - {keys: 'a:*', row: SELECT v FROM t WHERE id = ?1}
  - {keys: b, row: SELECT ?1}
END
echo 'CREATE TABLE t(id, v)' > rows.sql
tamis serve --check two.yaml
sed '$a filters: {directory: filters}' two.yaml > filters.yaml
tamis serve --check filters.yaml
ls filters 2>&1 | grep -o 'No such file'
sed 's/row: SELECT ?1/rwo: SELECT ?1/' two.yaml > unknown.yaml
tamis serve --check unknown.yaml
echo "status $?"
tamis serve unknown.yaml
echo "status $?"
# The database prepares the statements.
sed 's/SELECT v/SELECT w/' two.yaml > column.yaml
tamis serve --check column.yaml
echo "status $?"
# A server that is not there leaves the rest unchecked.
sed '1a redis: redis://127.0.0.1:1' two.yaml > redis.yaml
tamis serve --check redis.yaml
echo "status $?"
cat > notify.yaml <<'END'
database: {postgres: host=127.0.0.1 port=1 dbname=d user=u}
keyspaces:
  - {keys: 'a:*', row: SELECT v FROM t WHERE id = $1, all_keys: SELECT id FROM t, notify: rows}
END
tamis serve --check notify.yaml
echo "status $?"
# A file is not made by its init.
sed 's/sqlite: memory/sqlite: rows.db/' two.yaml > file.yaml
tamis serve --check file.yaml
echo "status $?"
ls rows.db 2>&1 | grep -o 'No such file'
# A filter that is missing today may be there when the server starts.
sed 's/id = ?1/&, filter_file: rows.tamis/' two.yaml > filter.yaml
tamis serve --check filter.yaml
echo "status $?"
tamis serve --check missing.yaml
tamis serve --check
tamis serve two.yaml two.yaml
tamis serve --check --json two.yaml
sed 's|sqlite: memory|postgres: host=h passwrod=s|' two.yaml > postgres.yaml
tamis serve --check postgres.yaml
sed 's/, init: rows.sql//' file.yaml > none.yaml
tamis serve none.yaml
