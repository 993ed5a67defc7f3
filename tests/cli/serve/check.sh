# SPDX-License-Identifier: BSD-2-Clause
# --check prints the number of keyspaces, or the first error with its line.
tamis serve --check "$TAMIS_SOURCE_DIR/docs/examples/guard/demo.yaml" > checked 2>&1 || { grep -q 'built without' checked && exit 77; }
sed 's,.*/docs/,docs/,' checked
cat > two.yaml <<'END'
database: {sqlite: rows.db}
keyspaces:
  - {keys: 'a:*', row: SELECT 1}
  - {keys: b, row: SELECT 2}
END
tamis serve --check two.yaml
sed '$a filters: {directory: filters}' two.yaml > filters.yaml
tamis serve --check filters.yaml
ls filters 2>&1 | grep -o 'No such file'
sed 's/row: SELECT 2/rwo: SELECT 2/' two.yaml > unknown.yaml
tamis serve --check unknown.yaml
echo "status $?"
tamis serve unknown.yaml
echo "status $?"
tamis serve --check missing.yaml
tamis serve --check
tamis serve two.yaml two.yaml
tamis serve --check --json two.yaml
sed 's/sqlite: rows.db/postgres: host=h passwrod=s/' two.yaml > postgres.yaml
tamis serve --check postgres.yaml
tamis serve two.yaml
