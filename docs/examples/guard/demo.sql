-- SPDX-License-Identifier: BSD-2-Clause
CREATE TABLE items (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
WITH RECURSIVE numbers (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM numbers WHERE id < 1000)
INSERT INTO items SELECT id, 'item number ' || id FROM numbers;
