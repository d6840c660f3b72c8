# D1 equal
SELECT id FROM m WHERE d = 33353.20

# D1 equal to itself
SELECT d, d = 33353.20 AS e FROM m

# D1 at most
SELECT id FROM m WHERE d <= 67.35

# D1 less
SELECT id FROM m WHERE d < 67.35

# D1 more
SELECT id FROM m WHERE d > 33353.20

# D1 in
SELECT id FROM m WHERE d IN (33353.20, 67.35)

# D1 in, long
SELECT id FROM m WHERE d IN (33353.20, 67.35, 1.16, 1.20, 1.24, 5.55)

# D1 not in
SELECT id FROM m WHERE d NOT IN (33353.20, 67.35)

# D1 between
SELECT id FROM m WHERE d BETWEEN 1.20 AND 67.35

# D1 case
SELECT id, CASE d WHEN 67.35 THEN 'a' WHEN 33353.20 THEN 'b' ELSE 'c' END AS e FROM m

# D1 having
SELECT d, count(*) AS n FROM m GROUP BY d HAVING sum(d) = 33353.20

# D1 other side
SELECT id FROM m WHERE 72.04 = d

# D1 wide
SELECT id FROM m WHERE n = 27670116110564327430

# D1 wide in
SELECT id FROM m WHERE n IN (27670116110564327430, 27670116110564327424)

# D1 wide less
SELECT id FROM m WHERE n < 27670116110564327431

# D1 of two places
SELECT id FROM m WHERE w = 99999999999999999.99

# D1 largest
SELECT id FROM m WHERE n = 99999999999999999999999999999999999999

# D1 largest of two places
SELECT id FROM m WHERE w >= 999999999999999999999999999999999999.99

# D1 negative
SELECT id FROM m WHERE w = -67.35 OR d = -0.01

# D1 double
SELECT id FROM m WHERE x = 72.04

# D1 double less
SELECT id FROM m WHERE x < 1e300 AND x > -1e300

# D1 decimal and double column
SELECT m.id, o.id AS other FROM m JOIN m o ON m.w = o.x WHERE m.w IS NOT NULL

# D1 decimal beside double
SELECT id FROM m WHERE d = x

# D1 bigint above
SELECT id FROM m WHERE i > 9007199254740992.0

# D1 bigint equal
SELECT id FROM m WHERE i = 9007199254740993.0

# D1 bigint fraction
SELECT id FROM m WHERE i > 6.5 AND i < 10.5

# D1 bigint equal to a fraction
SELECT id FROM m WHERE i = 7.5 OR i IN (7.5, 10.0)

# D1 more places than the column
SELECT id FROM m WHERE d > 1.235 AND d < 1.255

# D1 equal with more places
SELECT id FROM m WHERE d = 1.241 OR d = 1.2500

# D1 in with more places
SELECT id FROM m WHERE d IN (1.241, 1.2500, 1.16)

# D1 sum
SELECT id FROM m WHERE d + 0.04 = 1.24

# D1 product
SELECT id FROM m WHERE d * 0.5 = 33.675

# D1 arithmetic output
SELECT id, d + 0.01 AS a, d - 1.16 AS b, d * 1.1 AS c FROM m WHERE id < 7

# D1 distinct from
SELECT id FROM m WHERE d IS DISTINCT FROM 67.35

# D1 not distinct from
SELECT id FROM m WHERE d IS NOT DISTINCT FROM 33353.20

# D1 text
SELECT id FROM m WHERE d = '33353.20' OR d = '67.350'

# D1 coalesce
SELECT id FROM m WHERE coalesce(d, 67.35) = 67.35

# D1 nullif
SELECT id, nullif(d, 67.35) AS e FROM m

# D1 greatest
SELECT id, greatest(d, 67.35) AS e FROM m

# D1 partition
SELECT id FROM h WHERE q = 33353.20 AND p = 9

# D1 filter
SELECT count(*) FILTER (WHERE d = 67.35) AS n, sum(d) FILTER (WHERE d <> 67.35) AS s FROM m WHERE id <> 7

# zero join
SELECT m.id, z.name FROM m JOIN z ON m.x = z.x WHERE m.x = 0 ORDER BY 1, 2

# zero join on NaN
SELECT m.id, z.name FROM m JOIN z ON m.x = z.x

# zero left join
SELECT m.id, z.name FROM m LEFT JOIN z ON m.x = z.x

# zero join ordered
#ordered
SELECT m.id, z.name FROM m JOIN z ON m.x = z.x ORDER BY m.id, z.name LIMIT 5

# zero in four
SELECT id FROM m WHERE x IN (0.0, 7, 8, 9)

# zero in three
SELECT id FROM m WHERE x IN (0.0, 7, 8)

# zero in minus
SELECT id FROM m WHERE x IN (-0.0, 7, 8, 9, 10)

# zero not in
SELECT id FROM m WHERE x NOT IN (0.0, 7, 8, 9)

# zero equal
SELECT id FROM m WHERE x = 0

# zero equal minus
SELECT id FROM m WHERE x = -0.0

# zero less
SELECT id FROM m WHERE x < 0.0

# zero at least
SELECT id FROM m WHERE x >= 0.0

# zero between
SELECT id FROM m WHERE x BETWEEN 0.0 AND 0.0

# zero group
SELECT x, count(*) AS n FROM m GROUP BY x

# zero distinct
SELECT count(DISTINCT x) AS n, count(DISTINCT r) AS o FROM m

# zero distinct rows
SELECT DISTINCT x FROM m

# zero union
SELECT x FROM m UNION SELECT x FROM z

# zero except
SELECT x FROM m EXCEPT SELECT x FROM z

# zero intersect
SELECT x FROM m INTERSECT SELECT x FROM z

# zero in subquery
SELECT id FROM m WHERE x IN (SELECT x FROM z)

# zero exists
SELECT id FROM m WHERE EXISTS (SELECT 1 FROM z WHERE z.x = m.x)

# zero not distinct
SELECT m.id, z.name FROM m JOIN z ON m.x IS NOT DISTINCT FROM z.x

# zero real
SELECT id FROM m WHERE r = 0.0 OR r IN (0, 5, 6, 7)

# zero partition by
SELECT id, count(*) OVER (PARTITION BY x) AS n FROM m

# zero rank
SELECT id, rank() OVER (ORDER BY x) AS n FROM m

# D7 min and max
SELECT min(x) AS lo, max(x) AS hi FROM m

# D7 by group
SELECT id % 2 AS g, min(x) AS lo, max(x) AS hi FROM m GROUP BY id % 2

# D7 minimum of NaN
SELECT name, min(x) AS lo, max(x) AS hi FROM z GROUP BY name

# D7 order
#ordered
SELECT x, id FROM m ORDER BY x, id

# D7 order limit
#ordered
SELECT x FROM m WHERE x <> 0 ORDER BY x DESC NULLS LAST LIMIT 2

# D7 compare
SELECT id FROM m WHERE x > 1.0

# D7 compare infinity
SELECT id FROM m WHERE x >= CAST('inf' AS DOUBLE)

# D7 equal NaN
SELECT id FROM m WHERE x = CAST('NaN' AS DOUBLE)

# D7 window
SELECT id, max(x) OVER () AS hi, min(x) OVER () AS lo FROM m

# cast int
#duckdb SELECT id FROM m WHERE CAST(trunc(d) AS BIGINT) = 1
SELECT id FROM m WHERE id <> 7 AND CAST(d AS INT) = 1

# cast decimal
SELECT id FROM m WHERE CAST(d AS DECIMAL(15, 1)) = 1.2

# cast decimal in
SELECT id FROM m WHERE CAST(d AS DECIMAL(15, 1)) IN (1.2, 1.3, 5.5, 6.5)

# cast decimal less
SELECT id FROM m WHERE CAST(d AS DECIMAL(15, 1)) < 1.2

# cast decimal at least
SELECT id FROM m WHERE CAST(d AS DECIMAL(15, 0)) >= 67

# cast decimal output
SELECT id, CAST(d AS DECIMAL(15, 1)) AS e FROM m

# cast decimal wider
SELECT id FROM m WHERE CAST(d AS DECIMAL(20, 4)) = 1.2000

# cast double
SELECT id FROM m WHERE CAST(d AS DOUBLE) = 67.35

# cast double to int
#duckdb SELECT id FROM m WHERE CASE WHEN x BETWEEN -5 AND 100 THEN CAST(trunc(x) AS INT) END = 1
SELECT id FROM m WHERE CASE WHEN x BETWEEN -5 AND 100 THEN CAST(x AS INT) END = 1

# cast timestamp to date
SELECT id FROM c WHERE CAST(t6 AS DATE) = DATE '2001-01-14'

# cast timestamp to date less
SELECT id FROM c WHERE CAST(t6 AS DATE) <= DATE '2001-01-14'

# cast timestamp to date text
SELECT id FROM c WHERE CAST(t0 AS DATE) = '2001-01-14'

# cast timestamp to date, edge
SELECT id FROM c WHERE CAST(t6 AS DATE) = DATE '9999-12-31'

# cast bigint to int text
SELECT id FROM m WHERE CAST(i AS VARCHAR) = '7'

# cast int to boolean
SELECT a FROM t WHERE CAST(a AS BOOLEAN) = TRUE

# cast text to int
SELECT '7' = CAST(7 AS VARCHAR) AS e, CAST('07' AS INT) = 7 AS f

# limit below order
#ordered
SELECT count(*) AS n FROM (SELECT c FROM l LIMIT 4 OFFSET 3) o

# limit below order by
#ordered
SELECT rn FROM (SELECT row_number() OVER (ORDER BY c) AS rn FROM (SELECT c FROM l LIMIT 5 OFFSET 5) i) o ORDER BY rn

# limit below join
SELECT count(*) AS n FROM (SELECT c FROM l LIMIT 10 OFFSET 990) a JOIN l b ON a.c = b.c

# limit offset beyond
SELECT count(*) AS n FROM (SELECT c FROM l LIMIT 10 OFFSET 995) a

# limit ordered below order
#ordered
SELECT * FROM (SELECT c, v FROM l ORDER BY c LIMIT 6 OFFSET 3) o ORDER BY c DESC LIMIT 2

# limit nested
#ordered
SELECT c FROM (SELECT c FROM l ORDER BY c LIMIT 10 OFFSET 5) o ORDER BY c LIMIT 3 OFFSET 2

# limit under aggregate
SELECT sum(c) AS n FROM (SELECT c FROM l ORDER BY c LIMIT 10 OFFSET 5) o

# limit under filter
SELECT count(*) AS n FROM (SELECT c, v FROM l ORDER BY c LIMIT 10 OFFSET 5) o WHERE v = 1

# limit in union
SELECT count(*) AS n FROM ((SELECT c FROM l LIMIT 3 OFFSET 1) UNION ALL (SELECT c FROM l LIMIT 4 OFFSET 998)) o

# limit left join
SELECT count(*) AS n FROM (SELECT c FROM l LIMIT 7 OFFSET 2) a LEFT JOIN v ON a.c = v.b

# D3 subquery
SELECT sum(c) AS s FROM (SELECT c, v FROM l ORDER BY v, c OFFSET 3) x

# D3 cte
WITH x AS (SELECT c, v FROM l ORDER BY v, c OFFSET 3) SELECT sum(c) AS s FROM x

# D3 descending
SELECT sum(c) AS s, count(*) AS n FROM (SELECT c FROM l ORDER BY c DESC OFFSET 990) x

# D3 join
SELECT sum(x.c) AS s FROM (SELECT c, v FROM l ORDER BY v, c OFFSET 997) x JOIN v ON v.b <> 0

# D3 top
#ordered
SELECT c FROM l ORDER BY c OFFSET 996

# D3 in
SELECT count(*) AS n FROM l WHERE c IN (SELECT c FROM l ORDER BY c OFFSET 990) AND v = 1

# D3 twice
SELECT sum(c) AS s FROM (SELECT c FROM (SELECT c FROM l ORDER BY c OFFSET 10) y ORDER BY c DESC OFFSET 10) x

# year below 9999
SELECT id FROM c WHERE extract(year FROM t6) < 9999

# year at most 9999
SELECT id FROM c WHERE extract(year FROM t0) <= 9999

# year above
SELECT id FROM c WHERE extract(year FROM dt) > 9998

# year equal 9999
SELECT id FROM c WHERE extract(year FROM dt) = 9999

# year equal 1
SELECT id FROM c WHERE extract(year FROM t3) = 1

# year equal 10000
SELECT id FROM c WHERE extract(year FROM t6) = 10000

# year below of nanoseconds
#duckdb SELECT id FROM c WHERE extract(year FROM CAST(t9 AS TIMESTAMP)) < 9999
SELECT id FROM c WHERE extract(year FROM t9) < 9999

# year not of nanoseconds
#duckdb SELECT id FROM c WHERE extract(year FROM CAST(t9 AS TIMESTAMP)) <> 2300
SELECT id FROM c WHERE extract(year FROM t9) <> 2300

# edge text
SELECT id FROM c WHERE t6 = '9999-12-31 23:59:59.999999'

# edge date text
SELECT id FROM c WHERE t0 = '9999-12-31'

# edge date
SELECT id FROM c WHERE t0 = DATE '9999-12-31'

# edge date less
#duckdb SELECT id FROM c WHERE CAST(t9 AS TIMESTAMP) < DATE '9999-12-31'
SELECT id FROM c WHERE t9 < DATE '9999-12-31'

# edge date of nanoseconds
#duckdb SELECT id FROM c WHERE CAST(t9 AS TIMESTAMP) > DATE '0001-01-01'
SELECT id FROM c WHERE t9 > DATE '0001-01-01'

# edge date and timestamp
SELECT id FROM c WHERE dt > TIMESTAMP '2020-01-01 00:00:00'

# edge date and timestamp column
#duckdb SELECT id FROM c WHERE dt > CAST(t9 AS TIMESTAMP)
SELECT id FROM c WHERE dt > t9

# edge columns
SELECT id FROM c WHERE t0 <= t6

# edge columns of nanoseconds
#duckdb SELECT id FROM c WHERE t6 < CAST(t9 AS TIMESTAMP)
SELECT id FROM c WHERE t6 < t9

# D4 equal
SELECT id FROM c WHERE t0 = TIMESTAMP '2001-01-14 00:00:00.5'

# D4 less
SELECT id FROM c WHERE t0 < TIMESTAMP '2001-01-14 00:00:00.5'

# D4 at least
SELECT id FROM c WHERE t0 >= TIMESTAMP '2001-01-14 00:00:00.5'

# D4 at most
SELECT id FROM c WHERE t0 <= TIMESTAMP '2001-01-14 00:00:00.999'

# D4 between
SELECT id FROM c WHERE t0 BETWEEN TIMESTAMP '2001-01-14 00:00:00.5' AND TIMESTAMP '2001-01-14 00:00:01.5'

# D4 in
SELECT id FROM c WHERE t0 IN (TIMESTAMP '2001-01-14 00:00:00.5', TIMESTAMP '2001-01-14 00:00:01')

# D4 of milliseconds
SELECT id FROM c WHERE t3 = TIMESTAMP '2001-01-14 00:00:00.500001'

# D4 of milliseconds more
SELECT id FROM c WHERE t3 > TIMESTAMP '2001-01-14 00:00:00.499999'

# D4 of date
SELECT id FROM c WHERE dt = TIMESTAMP '2001-01-14 00:00:00.5'

# D4 of date less
SELECT id FROM c WHERE dt < TIMESTAMP '2001-01-14 10:00:00'

# D4 of microseconds
SELECT id FROM c WHERE t6 > TIMESTAMP '2001-01-14 00:00:00' AND t6 < TIMESTAMP '2001-01-14 00:00:00.000002'

# D2 full
SELECT a FROM t FULL JOIN u USING (a)

# D2 right
SELECT a FROM t RIGHT JOIN u USING (a)

# D2 left
SELECT a FROM t LEFT JOIN u USING (a)

# D2 inner
SELECT a FROM t JOIN u USING (a)

# D2 where
SELECT a FROM t JOIN u USING (a) WHERE a = 2

# D2 full where
SELECT a FROM t FULL JOIN u USING (a) WHERE a = 3 OR a = 4

# D2 full where null
SELECT count(*) AS n FROM t FULL JOIN u USING (a) WHERE a IS NULL

# D2 group
SELECT a, count(*) AS n FROM t FULL JOIN u USING (a) GROUP BY a

# D2 order
#ordered
SELECT a FROM t FULL JOIN u USING (a) ORDER BY a NULLS FIRST

# D2 star
SELECT * FROM (SELECT a, s AS s1 FROM t) x FULL JOIN (SELECT a, s AS s2 FROM u) y USING (a)

# D2 sides
SELECT a, t.a AS l, u.a AS r FROM t FULL JOIN u USING (a)

# D2 natural
SELECT a, b FROM (SELECT a, b FROM t) x NATURAL JOIN (SELECT a, b FROM u) y

# D2 natural full
SELECT a, n, o FROM (SELECT a, k AS n FROM t) x NATURAL FULL JOIN (SELECT a, k AS o FROM u) y

# D2 natural right
SELECT a, n, o FROM (SELECT a, k AS n FROM t) x NATURAL RIGHT JOIN (SELECT a, k AS o FROM u) y

# D2 two columns
SELECT a, b FROM t FULL JOIN u USING (a, b)

# D2 computed
SELECT a + 1 AS c, count(*) AS n FROM t RIGHT JOIN u USING (a) GROUP BY a + 1

# D5 not in or
SELECT a FROM t WHERE a NOT IN (SELECT b FROM u) OR a = 1

# D5 not in
SELECT a FROM t WHERE a NOT IN (SELECT b FROM u)

# D5 not in without null
SELECT a FROM t WHERE a NOT IN (SELECT b FROM v)

# D5 constant not in
SELECT a FROM t WHERE 3 NOT IN (SELECT b FROM u)

# D5 constant not in without null
SELECT a FROM t WHERE 3 NOT IN (SELECT b FROM v)

# D5 null not in
SELECT a FROM t WHERE NULL NOT IN (SELECT b FROM v)

# D5 not in empty
SELECT a FROM t WHERE a NOT IN (SELECT b FROM e)

# D5 null not in empty
SELECT a FROM t WHERE NULL NOT IN (SELECT b FROM e)

# D5 is null
SELECT a FROM t WHERE (a IN (SELECT b FROM u)) IS NULL

# D5 not of in
SELECT a FROM t WHERE NOT (a IN (SELECT b FROM u))

# D5 not of in or
SELECT a FROM t WHERE NOT (a IN (SELECT b FROM u)) OR s = 'b'

# D5 output
SELECT a, a IN (SELECT b FROM u) AS e FROM t

# D5 output not
SELECT a, a NOT IN (SELECT b FROM v) AS e FROM t

# D5 correlated
SELECT a FROM t WHERE a NOT IN (SELECT b FROM u WHERE u.a < t.b)

# D5 correlated equal
SELECT a FROM t WHERE a NOT IN (SELECT u.b FROM u WHERE u.s = t.s)

# D5 correlated in
SELECT a FROM t WHERE a IN (SELECT u.a FROM u WHERE u.b < t.a)

# D5 in or
SELECT a FROM t WHERE a IN (SELECT b FROM u) OR a IN (SELECT a FROM u)

# D5 case
SELECT a, CASE WHEN a IN (SELECT b FROM u) THEN 'in' WHEN a NOT IN (SELECT b FROM u) THEN 'out' ELSE 'open' END AS e FROM t

# D5 in case filter
SELECT count(*) AS n FROM t WHERE CASE WHEN a IN (SELECT b FROM u) THEN FALSE ELSE TRUE END

# D6 exists count
SELECT a FROM t WHERE EXISTS (SELECT count(*) FROM u WHERE u.a = t.b)

# D6 not exists count
SELECT a FROM t WHERE NOT EXISTS (SELECT count(*) FROM u WHERE u.a = t.b)

# D6 exists max
SELECT a FROM t WHERE EXISTS (SELECT max(b) FROM u WHERE u.a = t.b)

# D6 exists count uncorrelated
SELECT a FROM t WHERE EXISTS (SELECT count(*) FROM e)

# D6 exists grouped
SELECT a FROM t WHERE EXISTS (SELECT count(*) FROM u WHERE u.a = t.a GROUP BY u.b)

# D6 exists having
SELECT a FROM t WHERE EXISTS (SELECT count(*) FROM u WHERE u.a = t.a HAVING count(*) > 5)

# D6 exists offset
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.b = t.b OFFSET 1)

# D6 exists limit offset
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.b = t.b LIMIT 1 OFFSET 2)

# D6 exists limit 0
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.b = t.b LIMIT 0)

# D6 in limit
SELECT a FROM t WHERE a IN (SELECT b FROM v ORDER BY b LIMIT 1)

# D6 in offset
SELECT a FROM t WHERE a IN (SELECT b FROM v ORDER BY b OFFSET 1)

# D6 scalar count
SELECT a, (SELECT count(*) FROM u WHERE u.a = t.a) AS n FROM t

# D6 scalar count compared
SELECT a FROM t WHERE (SELECT count(*) FROM u WHERE u.a = t.a) = 0

# D6 scalar count coalesced
SELECT a, coalesce((SELECT max(b) FROM u WHERE u.a = t.a), -1) AS n FROM t

# D6 exists rollup
SELECT a FROM t WHERE EXISTS (SELECT u.b, count(*) FROM u WHERE u.a = t.a GROUP BY ROLLUP (u.b))

# D9 except all
SELECT a FROM t EXCEPT ALL SELECT b FROM v

# D9 except all of values
SELECT x FROM (VALUES (1), (1), (2)) i(x) EXCEPT ALL SELECT y FROM (VALUES (1)) j(y)

# D9 intersect all
SELECT a FROM t INTERSECT ALL SELECT a FROM t WHERE a < 3

# D9 intersect all null
SELECT b FROM t INTERSECT ALL SELECT b FROM u

# D9 except
SELECT a FROM t EXCEPT SELECT b FROM v

# D9 intersect
SELECT a FROM t INTERSECT SELECT a FROM u

# D9 nested
SELECT a FROM t EXCEPT ALL (SELECT b FROM v UNION ALL SELECT b FROM v)

# D9 two columns
SELECT a, b FROM t EXCEPT ALL SELECT a, b FROM t WHERE s = 'a'

# D9 twice
(SELECT a FROM t UNION ALL SELECT a FROM u) EXCEPT ALL SELECT a FROM t

# D10 not in or not in
SELECT a FROM t WHERE a NOT IN (1) OR a NOT IN (2)

# D10 different or different
SELECT a FROM t WHERE a <> 1 OR a <> 2

# D10 not in or null
SELECT a FROM t WHERE a NOT IN (1, 2) OR a NOT IN (3, 4)

# D10 in and in
SELECT a FROM t WHERE a IN (1, 2) AND a IN (2, 3)

# D10 in and not in
SELECT a FROM t WHERE a IN (1, 2, 3) AND a NOT IN (2)

# D10 is null
SELECT a FROM t WHERE (a NOT IN (1) OR a NOT IN (2)) IS NULL

# D11 both sides
SELECT k FROM t WHERE k = '7' AND '7' = k

# D11 both sides of a date
SELECT id FROM c WHERE dt = '2001-01-14' AND '2001-01-14' = dt

# D11 of a timestamp
SELECT id FROM c WHERE t0 = '2001-01-14' AND '2001-01-14' = t0

# D11 or
SELECT k FROM t WHERE k = '7' OR '7' = k

# D11 less
SELECT k FROM t WHERE k < '10' AND '10' > k

# D11 twice
SELECT k FROM t WHERE k = '7' AND k = '7' AND 7 = k

# D12 where
SELECT t.a, u.b FROM t JOIN u ON t.a IS NOT DISTINCT FROM u.a WHERE t.b = u.b

# D12 on
SELECT t.a, u.b FROM t JOIN u ON t.a IS NOT DISTINCT FROM u.a AND t.b = u.b

# D12 left
SELECT t.a, u.b FROM t LEFT JOIN u ON t.a IS NOT DISTINCT FROM u.a AND t.b = u.b

# D12 both
SELECT t.a, u.b FROM t JOIN u ON t.a IS NOT DISTINCT FROM u.a AND t.b IS NOT DISTINCT FROM u.b

# D12 exists
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a IS NOT DISTINCT FROM t.a AND u.b = t.b)

# D8 and
SELECT a FROM t WHERE a IS NOT DISTINCT FROM b AND s = 'a'

# D8 or
SELECT a FROM t WHERE a IS DISTINCT FROM 1 OR b = 1

# D8 and first
SELECT a FROM t WHERE p AND a IS DISTINCT FROM 2

# D8 output
SELECT a, a IS DISTINCT FROM b AND p AS e FROM t

# D8 not
SELECT a FROM t WHERE NOT a IS DISTINCT FROM 1 OR b = 3

# D8 on
SELECT t.a, u.a AS o FROM t JOIN u ON t.a IS NOT DISTINCT FROM u.a AND t.s = u.s

# D8 null
SELECT a FROM t WHERE a IS NOT DISTINCT FROM NULL OR a = 1

# D8 three
SELECT a FROM t WHERE a IS DISTINCT FROM 1 AND b IS NOT DISTINCT FROM 1 OR s = 'A'

# D13 any pattern
#duckdb SELECT a, s FROM t WHERE regexp_matches(s, '.*')
SELECT a, s FROM t WHERE s ~ '.*'

# D13 output
#duckdb SELECT s, regexp_matches(s, '.*') AS e FROM t
SELECT s, s ~ '.*' AS e FROM t

# D13 not
#duckdb SELECT a FROM t WHERE NOT regexp_matches(s, '.*')
SELECT a FROM t WHERE s !~ '.*'

# D13 like
SELECT s, s LIKE '%' AS e, s NOT LIKE '%' AS f FROM t

# D13 like filter
SELECT a FROM t WHERE s LIKE '%'

# D13 not like filter
SELECT a FROM t WHERE s NOT LIKE '%'

# error count of false
SELECT count(CASE WHEN p IS FALSE THEN p END) AS n FROM t

# error count of true
SELECT count(CASE WHEN p IS TRUE THEN 1 END) AS n, count(*) AS m FROM t

# error unnamed cast
#duckdb SELECT d, CAST(trunc(d) AS INT) FROM m WHERE id < 5
SELECT d, CAST(d AS INT) FROM m WHERE id < 5

# error unnamed cast of a bigint
SELECT k, CAST(k AS INT) FROM t

# empty aggregate
SELECT count(*) AS n, sum(a) AS s, min(a) AS lo FROM e

# empty group
SELECT a, count(*) AS n FROM e GROUP BY a

# empty join
SELECT t.a, e.b FROM t LEFT JOIN e ON t.a = e.a

# having without group
SELECT count(*) AS n FROM t HAVING count(*) > 100

# rollup
SELECT a, b, count(*) AS n FROM t GROUP BY ROLLUP (a, b)

# rollup having
SELECT a, sum(b) AS n FROM t GROUP BY ROLLUP (a) HAVING sum(b) > 2

# rollup filter
SELECT a, n FROM (SELECT a, count(*) AS n FROM t GROUP BY ROLLUP (a)) o WHERE a IS NULL

# cube grouping
SELECT a, p, grouping(a) AS g, count(*) AS n FROM t GROUP BY CUBE (a, p)

# distinct on a rollup
SELECT DISTINCT a FROM (SELECT a FROM t GROUP BY ROLLUP (a)) o

# union types
SELECT a FROM t UNION SELECT k FROM u

# union all limit
#ordered
SELECT a FROM t UNION ALL SELECT a FROM u ORDER BY a NULLS LAST LIMIT 4 OFFSET 2

# mean
#about
SELECT avg(a) AS m, avg(k) AS n FROM t

# mean of decimals
#about
SELECT avg(d) AS m FROM m WHERE id < 5

# sum by group
SELECT a, sum(k) AS s FROM t GROUP BY a

# sum distinct
SELECT sum(DISTINCT a) AS s, count(DISTINCT b) AS n FROM t

# right join filter
SELECT t.a, u.a AS o FROM t RIGHT JOIN u ON t.a = u.a AND t.b = 1

# full join filter
SELECT t.a, u.a AS o FROM t FULL JOIN u ON t.a = u.a AND u.b = 1

# full join where
SELECT t.a, u.a AS o FROM t FULL JOIN u ON t.a = u.a WHERE t.a IS NULL OR u.b IS NULL

# join on inequality
SELECT t.a, u.a AS o FROM t JOIN u ON t.a < u.a

# left join on inequality
SELECT t.a, u.a AS o FROM t LEFT JOIN u ON t.a > u.a AND t.b = u.b

# semi join
#duckdb SELECT t.a FROM t SEMI JOIN u ON t.a = u.a
SELECT t.a FROM t LEFT SEMI JOIN u ON t.a = u.a

# anti join
#duckdb SELECT t.a FROM t ANTI JOIN u ON t.a = u.a
SELECT t.a FROM t LEFT ANTI JOIN u ON t.a = u.a

# join int and double
SELECT t.k, u.k AS o FROM t JOIN u ON t.k = u.k

# partition in
SELECT id FROM h WHERE p IN (9, 12)

# partition text
SELECT id FROM h WHERE p = '9'

# partition order
#ordered
SELECT p, id FROM h ORDER BY p, id

# partition max
SELECT max(p) AS hi, min(p) AS lo, count(DISTINCT p) AS n FROM h

# partition not
SELECT id FROM h WHERE NOT (p = 9) AND q IS DISTINCT FROM 0.10

# distinct on repeated keys
#ordered
SELECT DISTINCT ON (a) a, a AS o FROM t ORDER BY a NULLS LAST, o

# union ordered by equal columns
#ordered
SELECT a AS o1, a AS o2 FROM t UNION ALL SELECT a AS o1, a AS o2 FROM u ORDER BY o1 NULLS LAST, o2 NULLS LAST

# order by a constant behind a full join
#ordered
SELECT d.o FROM t FULL JOIN (SELECT TRUE AS o, b FROM v) d ON t.a = d.b + 100 ORDER BY d.o NULLS LAST

# partition try_cast
SELECT id, g FROM g WHERE TRY_CAST(g AS BIGINT) = 0

# partition cast
SELECT id, g FROM g WHERE TRY_CAST(g AS BIGINT) = 7

# rollup twice the same
SELECT a, count(*) AS n FROM t GROUP BY ROLLUP (a, a)

# NaN of a difference
SELECT id FROM m WHERE x - x <= 0.5

# NaN of a difference compared
SELECT id, x - x < 0 AS a, x - x = CAST('NaN' AS DOUBLE) AS b, x - x > 1 AS c FROM m

# NaN of a difference ordered
#ordered
SELECT id, x - x AS y FROM m ORDER BY y NULLS FIRST, id

# NaN of a difference by group
SELECT x - x AS y, count(*) AS n FROM m GROUP BY x - x

# NaN of a difference at most
SELECT min(x - x) AS lo, max(x - x) AS hi FROM m

# nullability of a test
SELECT DISTINCT p IS NOT FALSE AS o FROM t

# nullability of a test grouped
SELECT p IS UNKNOWN AS o, count(*) AS n FROM t GROUP BY p IS UNKNOWN

# ceil of a full decimal
SELECT ceil(CAST(q AS DECIMAL(7, 2))) AS a, floor(q) AS b FROM h

# ceil beyond the type
SELECT ceil(y) AS a FROM (VALUES (CAST('999.8' AS DECIMAL(4, 1)))) i(y)

# count distinct with a filter over a count
SELECT count(DISTINCT o) FILTER (WHERE TRUE) AS n FROM (SELECT count(*) AS o FROM t) d

# grouped by two casts
SELECT count(*) AS n FROM t GROUP BY CAST(k AS INT), CAST(k AS DOUBLE)

# grouped by a column and its cast
SELECT k, count(*) AS n FROM t GROUP BY k, CAST(k AS VARCHAR)

# moving sum of doubles
SELECT id, sum(x) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS y FROM m

# moving mean of doubles, both ways
SELECT id, avg(x) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS y FROM m

# moving sum to the end
SELECT id, sum(r) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS y FROM m

# moving deviation
SELECT c, stddev(CAST(c AS DOUBLE)) OVER (ORDER BY c ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS y FROM l WHERE c < 50

# moving sum with a filter
SELECT id, sum(x) FILTER (WHERE id <> 7) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) AS y FROM m

# moving sum of a range with gaps
SELECT id, sum(x) OVER (ORDER BY id RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS y FROM m WHERE id NOT IN (3, 4, 8)

# moving sum by partition
SELECT c, sum(CAST(c AS DOUBLE)) OVER (PARTITION BY v ORDER BY c ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS y FROM l WHERE c < 70

# moving and
SELECT a.id, bool_and(a.id <> 3) OVER (ORDER BY a.id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS y, bool_or(a.x > 1) OVER (ORDER BY a.id ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS o FROM m a

# moving texts
SELECT c, string_agg(CAST(v AS VARCHAR), ',') OVER (ORDER BY c ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS y FROM l WHERE c < 20

# moving bits
SELECT c, bit_and(c) OVER (ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS y, bit_or(c) OVER (ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS o FROM l WHERE c < 20

# date minus a second
SELECT id, dt - INTERVAL '1 second' AS y FROM c WHERE dt > DATE '1900-01-01' AND dt < DATE '9999-01-01'

# date plus hours in a condition
SELECT id FROM c WHERE dt + INTERVAL '36 hours' > TIMESTAMP '2020-03-01 11:00:00'

# fetch first
#ordered
SELECT id FROM m ORDER BY id OFFSET 1 ROWS FETCH FIRST 2 ROWS ONLY

# group by nothing
SELECT sum(id) AS n FROM m GROUP BY ()

# group by nothing of no rows
SELECT count(*) AS n FROM e GROUP BY ()

# like with an escape
SELECT name FROM z WHERE name LIKE '%!_%' ESCAPE '!' OR name LIKE 'not a n_mber' ESCAPE '#'

# concatenation after a sum
SELECT id + 1 || 'x' AS y, id || '-' || id * 2 AS o FROM m

# bits from left to right
SELECT 1 | 2 & 4 AS a, c | c + 1 & 6 AS b FROM l WHERE c < 20

# a contradiction of an aggregate
SELECT count(*) AS n FROM t HAVING count(*) = 5 AND count(*) IN (6)

# a condition around an aggregate
SELECT n FROM (SELECT max(a) AS n FROM t) d WHERE 1 NOT IN (SELECT a FROM u WHERE a IS NOT NULL UNION ALL SELECT 1)

# a condition of another table beside an aggregate
SELECT count(*) AS m FROM (SELECT max(a) AS n FROM t) d JOIN (SELECT 1 AS k) e ON (SELECT min(b) FROM v) = 2

# a condition without columns on totals
SELECT a, min(b) AS n FROM t GROUP BY ROLLUP(a) HAVING (SELECT max(b) FROM v) = 1

# distinct on keys of another order
#ordered
SELECT DISTINCT ON (a, b) a, b, k FROM t ORDER BY b NULLS LAST, a NULLS LAST, k NULLS LAST

# distinct on a key twice
#ordered
SELECT DISTINCT ON (a, a) a, k FROM t ORDER BY a NULLS LAST, k NULLS LAST

# distinct on two names of a column
#ordered
SELECT DISTINCT ON (x) a AS x, a AS y, k FROM t ORDER BY x NULLS LAST, y, k DESC NULLS LAST

# distinct on a sum that is the key
#ordered
SELECT DISTINCT ON (a) a, b FROM t ORDER BY a NULLS LAST, b NULLS LAST, b + 0 DESC

# distinct on with fewer orders
SELECT count(*) AS n FROM (SELECT DISTINCT ON (a, b) a, b FROM t ORDER BY b) d

# first value ordered twice
#duckdb SELECT a, first(k ORDER BY k, k DESC) AS f FROM t WHERE k IS NOT NULL GROUP BY a
SELECT a, first_value(k ORDER BY k, k DESC) AS f FROM t WHERE k IS NOT NULL GROUP BY a

# list ordered twice
SELECT a, string_agg(CAST(k AS VARCHAR), ',' ORDER BY k DESC, k) AS f FROM t WHERE k IS NOT NULL GROUP BY a

# grouped by a cast alone
SELECT CAST(k AS VARCHAR) AS o, count(*) AS n FROM t GROUP BY CAST(k AS VARCHAR)

# grouped by a cast and its column by their names
SELECT k AS x, CAST(k AS DOUBLE) AS y, count(*) AS n FROM t GROUP BY x, y

# grouped by a cast and its column by their numbers
SELECT k AS x, CAST(k AS DOUBLE) AS y, count(*) AS n FROM t GROUP BY 1, 2

# grouped by a cast with all
SELECT k AS x, TRY_CAST(k AS DOUBLE) AS y, count(*) AS n FROM t GROUP BY ALL

# grouped by casts of a cast
SELECT count(*) AS n FROM t GROUP BY CAST(CAST(k AS INT) AS VARCHAR), CAST(k AS INT), k

# grouped by casts of two tables
SELECT count(*) AS n FROM t JOIN u ON t.a = u.a GROUP BY CAST(t.k AS INT), CAST(u.k AS INT), t.k, u.k

# rollup of a cast and its column
SELECT k, count(*) AS n FROM t GROUP BY ROLLUP (k, CAST(k AS VARCHAR))

# cube twice the same
SELECT a, count(*) AS n FROM t GROUP BY CUBE (a, b, a)

# rollup of columns of two tables
SELECT t.a AS x, u.a AS y, count(*) AS n FROM t JOIN u ON t.b = u.b GROUP BY ROLLUP (t.a, u.a)

# sums of a column and of its cast
SELECT sum(k) AS a, sum(CAST(k AS DOUBLE)) AS b, sum(CAST(k AS INT)) AS c FROM t

# having of a cast
SELECT a, max(s) AS o FROM t GROUP BY a HAVING max(CAST(a AS VARCHAR)) <> '3'

# having of the column and of a cast
SELECT b, max(a) AS o FROM t GROUP BY b HAVING max(CAST(a AS DOUBLE)) > 1.5

# ordered by an aggregate of a cast
#ordered
SELECT b, max(a) AS o FROM t WHERE b IS NOT NULL GROUP BY b ORDER BY max(CAST(a AS VARCHAR)) DESC NULLS LAST

# windows over a column and its cast
SELECT a, sum(k) OVER (ORDER BY a, b) AS x, sum(CAST(k AS DOUBLE)) OVER (ORDER BY a, b) AS y FROM t

# ranks by a text and by its number
SELECT s, rank() OVER (ORDER BY s) AS x, rank() OVER (ORDER BY TRY_CAST(s AS INT), s) AS y FROM g JOIN t ON g.g = t.s

# cast ordered by its column
#ordered
SELECT CAST(a AS VARCHAR) AS o FROM t ORDER BY t.a NULLS LAST

# names that change places
#ordered
SELECT d.b AS a, CAST(d.a AS REAL) AS b FROM (SELECT 1 AS a, t.a AS b FROM t) d GROUP BY d.b, CAST(d.a AS REAL) ORDER BY a NULLS LAST, b DESC

# names that change places without groups
#ordered
SELECT b AS a, CAST(a AS DOUBLE) AS b FROM t ORDER BY a NULLS LAST, b NULLS LAST

# a column twice
SELECT a, a, b FROM t

# a column twice in a union
SELECT a, a FROM t UNION ALL SELECT b, b FROM u

# a column twice in a subquery
SELECT count(*) AS n, sum(o.a) AS m FROM (SELECT a, a FROM t) o

# two names alike
SELECT count(*), count(*), sum(a), sum(a) FROM t

# a column beside all
SELECT *, a FROM u

# a column and another of its name
SELECT a, b AS a FROM u

# distinct of a column twice
SELECT DISTINCT a, a FROM t

# union of equal columns and others
#ordered
SELECT a AS x, a AS y FROM t UNION ALL SELECT a, b FROM u ORDER BY y NULLS LAST, x DESC NULLS LAST

# union of equal columns by a condition
#ordered
SELECT a AS x, b AS y FROM t WHERE a = b UNION ALL SELECT a, b FROM u WHERE a = b ORDER BY x NULLS LAST, y NULLS LAST

# union of constants
#ordered
SELECT 1 AS x, 1 AS y, a FROM t UNION ALL SELECT 2, 2, a FROM u ORDER BY x, y, a NULLS LAST

# signs in a natural join
SELECT -a AS x, coalesce(k, -a) AS y FROM (SELECT a, k FROM t) i NATURAL LEFT JOIN (SELECT a, b FROM u) j

# signs in a join with using
#ordered
SELECT -a AS x FROM t JOIN u USING (a) ORDER BY -a

# two tests of subqueries
SELECT EXISTS (SELECT 1), EXISTS (SELECT a FROM t WHERE a > 9)

# recursion from three equal columns
WITH RECURSIVE f(n, a, b) AS (SELECT 1, 1, 1 UNION ALL SELECT n + 1, b, a + b FROM f WHERE n < 9) SELECT n, a FROM f

# constants twice
SELECT 1, 1, NULL, NULL

# casts of constants twice
SELECT CAST(1 AS INT), CAST(1 AS BIGINT), 1

# two memberships
SELECT a IN (SELECT a FROM u), a IN (SELECT b FROM u WHERE b IS NOT NULL) FROM t WHERE a IS NOT NULL

# grouping of a cast and of its column
SELECT a, grouping(a) AS g, grouping(CAST(a AS VARCHAR)) AS h, count(*) AS n FROM t GROUP BY CUBE (a, CAST(a AS VARCHAR))

# in a narrower subquery with a limit
SELECT a FROM t WHERE k IN (SELECT a AS s FROM u ORDER BY s LIMIT 1) OR b = 2

# NaN of a difference joined
SELECT a.id AS o1, b.id AS o2 FROM m a JOIN m b ON a.x - a.x = b.x - b.x WHERE a.id > 4 AND b.id > 4

# NaN of a difference in a list
SELECT id FROM m WHERE x - x IN (CAST('NaN' AS DOUBLE), 7.5, 8.5, 9.5)

# NaN of a difference not in a list
SELECT id FROM m WHERE x - x NOT IN (CAST('NaN' AS DOUBLE), 7.5, 8.5, 9.5)

# NaN of a difference ranked
SELECT id, rank() OVER (ORDER BY x - x) AS n FROM m WHERE x IS NOT NULL

# NaN of a difference counted
SELECT count(DISTINCT x - x) AS n, count(DISTINCT r - r) AS o FROM m

# NaN of a difference in a union
SELECT x - x AS y FROM m UNION SELECT x FROM z

# NaN of a difference excepted
SELECT x - x AS y FROM m EXCEPT SELECT x FROM z

# NaN of a difference between
SELECT id FROM m WHERE x - x NOT BETWEEN -1 AND 1

# NaN of a difference in CASE
SELECT id, CASE WHEN x - x > 1 THEN 'nan' WHEN x - x = 0 THEN 'zero' END AS o FROM m

# NaN of a difference, greatest
SELECT id, greatest(x - x, CAST(1.5 AS DOUBLE)) AS o FROM m WHERE x IS NOT NULL

# NaN of a product
SELECT id FROM m WHERE x * 0 > 1

# NaN of reals
SELECT id, r - r > 1 AS o FROM m

# NaN negated
#ordered
SELECT id FROM m ORDER BY -x NULLS FIRST, id

# NaN at most by group
SELECT i > 5 AS g, min(x - x) AS lo, max(x - x) AS hi FROM m GROUP BY i > 5

# NaN of a difference in a subquery
SELECT id FROM m WHERE x - x IN (SELECT x FROM z)

# decimal and fraction
SELECT id, d + 0.1 AS a, 1.1 * d AS b, d - 0.9 AS c, 0.5 - d AS e FROM m WHERE d < 100

# decimal and fraction compared
SELECT id FROM m WHERE d + 0.1 = 1.26 OR d * 1.5 = 1.86 OR d - 0.04 = 72.00

# sum of decimals and fractions
SELECT sum(d * 1.1) AS a, max(d + 0.005) AS b, min(0.1 + d) AS c FROM m WHERE d < 100

# decimal with a sign and fraction
SELECT id, d + -0.1 AS a, -0.1 - d AS b FROM m WHERE d < 100

# decimal by groups of a fraction
SELECT d + 0.5 AS k, count(*) AS n FROM m WHERE d < 100 GROUP BY d + 0.5

# decimal below a text beyond its type
#duckdb SELECT id FROM h WHERE q < CAST('99999999999.5' AS DECIMAL(13, 1))
SELECT id FROM h WHERE q < '99999999999.5'

# decimal and texts beyond its type
#duckdb SELECT id, q > CAST('-99999999999.5' AS DECIMAL(13, 1)) AS a, q = CAST('99999999999.5' AS DECIMAL(13, 1)) AS b FROM h
SELECT id, q > '-99999999999.5' AS a, q = '99999999999.5' AS b FROM h

# ceil of a fraction
SELECT ceil(y) AS a, floor(y) AS b, round(y) AS c FROM (VALUES (CAST('0.00000000000000001' AS DECIMAL(17, 17))), (CAST('-0.99999999999999999' AS DECIMAL(17, 17))), (NULL)) i(y)

# ceil of many places
SELECT ceil(y) AS a, floor(y) AS b FROM (VALUES (CAST('9.9999999999999999999999999999999999999' AS DECIMAL(38, 37))), (CAST('-9.5' AS DECIMAL(38, 37)))) i(y)

# floor beyond the type
SELECT floor(y) AS a, ceil(y) AS b FROM (VALUES (CAST('-999.8' AS DECIMAL(4, 1))), (CAST('-0.1' AS DECIMAL(4, 1)))) i(y)

# ceil of a table
SELECT ceil(d) AS k, count(*) AS n FROM m GROUP BY ceil(d)

# floor in a condition
SELECT id FROM m WHERE floor(d) = 1 OR ceil(d) = 68

# round up to another digit
SELECT round(y, 0) AS a, round(y, 1) AS b FROM (VALUES (CAST('999.95' AS DECIMAL(5, 2))), (CAST('-999.5' AS DECIMAL(5, 2)))) i(y)

# coarser units before 1970
#duckdb SELECT id, date_trunc('second', CAST(t3 AS TIMESTAMP)) AS a, date_trunc('millisecond', t6) AS b FROM o
SELECT id, CAST(t3 AS TIMESTAMP(0)) AS a, CAST(t6 AS TIMESTAMP(3)) AS b FROM o

# coarser units in a condition
#duckdb SELECT id FROM o WHERE date_trunc('second', CAST(t3 AS TIMESTAMP)) = TIMESTAMP '1969-12-31 23:59:59'
SELECT id FROM o WHERE CAST(t3 AS TIMESTAMP(0)) = TIMESTAMP '1969-12-31 23:59:59'

# coarser units grouped
#duckdb SELECT date_trunc('second', t6) AS k, count(*) AS n FROM o GROUP BY 1
SELECT CAST(t6 AS TIMESTAMP(0)) AS k, count(*) AS n FROM o GROUP BY CAST(t6 AS TIMESTAMP(0))

# coarser units of a constant
#duckdb SELECT id, TIMESTAMP '1969-12-31 23:59:59' AS a FROM o WHERE id = 1
SELECT id, CAST(CAST('1969-12-31 23:59:59.5' AS TIMESTAMP(3)) AS TIMESTAMP(0)) AS a FROM o WHERE id = 1

# dates before 1970
SELECT id, CAST(t3 AS DATE) AS a, CAST(t6 AS DATE) AS b FROM o

# parts before 1970
#duckdb SELECT id, extract(year FROM CAST(t6 AS TIMESTAMP)) AS a, extract(second FROM CAST(t6 AS TIMESTAMP)) AS b, extract(doy FROM dt) AS c FROM o
SELECT id, extract(year FROM t6) AS a, extract(second FROM t6) AS b, extract(doy FROM dt) AS c FROM o

# truncated beyond nanoseconds
#duckdb SELECT id, date_trunc('month', CAST(t3 AS TIMESTAMP)) AS a, date_trunc('week', t6) AS b, date_trunc('year', CAST(t3 AS TIMESTAMP)) AS c, date_trunc('quarter', t6) AS e FROM o
SELECT id, date_trunc('month', t3) AS a, date_trunc('week', t6) AS b, date_trunc('year', t3) AS c, date_trunc('quarter', t6) AS e FROM o

# truncated dates
SELECT id, CAST(date_trunc('week', dt) AS DATE) AS a, CAST(date_trunc('month', dt) AS DATE) AS b, CAST(date_trunc('year', dt) AS DATE) AS c FROM o

# dates not among timestamps
SELECT id FROM c WHERE t3 NOT IN (SELECT dt FROM c WHERE dt IS NOT NULL)

# dates among timestamps
SELECT id FROM c WHERE dt IN (SELECT t0 FROM c)

# timestamps among dates
SELECT id FROM c WHERE t0 IN (SELECT dt FROM c)

# dates and timestamps in a union
SELECT dt AS o FROM c WHERE id < 4 UNION SELECT t3 FROM c WHERE id < 4

# timestamps and dates in a union of all
SELECT t0 AS o FROM c UNION ALL SELECT dt FROM c

# dates and timestamps intersected
SELECT dt AS o FROM c INTERSECT SELECT t0 FROM c

# dates without timestamps
SELECT dt AS o FROM c EXCEPT SELECT t0 FROM c

# dates and timestamps in CASE
SELECT id, CASE WHEN dt > t3 THEN dt ELSE t3 END AS o FROM c

# dates and timestamps, the first
SELECT id, coalesce(dt, t0) AS a, coalesce(t6, dt) AS b FROM c

# dates and timestamps, the greatest
SELECT id, greatest(dt, t6) AS a, least(t0, dt) AS b FROM c

# dates and timestamps, none if equal
SELECT id, nullif(dt, t0) AS a, nullif(t0, dt) AS b FROM c

# dates and timestamps joined
SELECT a.id AS o1, b.id AS o2 FROM c a JOIN c b ON a.dt = b.t0

# dates and timestamps joined in order
SELECT a.id AS o1, b.id AS o2 FROM c a JOIN c b ON a.dt > b.t6 WHERE a.id = 2

# dates between timestamps
SELECT id FROM c WHERE dt BETWEEN t0 AND t6 OR t3 BETWEEN dt AND t0

# partition try_cast to INT
SELECT id, g FROM g WHERE TRY_CAST(g AS INT) = 0

# partition try_cast more
SELECT id, g FROM g WHERE TRY_CAST(g AS BIGINT) > 5

# partition try_cast less
SELECT id, g FROM g WHERE TRY_CAST(g AS DOUBLE) < 5.5

# partition try_cast in a list
SELECT id, g FROM g WHERE TRY_CAST(g AS BIGINT) IN (0, 7, 9, 11)

# partition try_cast null
SELECT id, g FROM g WHERE TRY_CAST(g AS BIGINT) IS NULL

# partition try_cast not
SELECT id, g FROM g WHERE NOT (TRY_CAST(g AS BIGINT) = 0)

# partition try_cast or
SELECT id, g FROM g WHERE TRY_CAST(g AS BIGINT) = 0 OR id = 1

# partition try_cast to a date
SELECT id, g FROM g WHERE TRY_CAST(g AS DATE) IS NULL AND id > 1

# partition cast to text
SELECT id FROM h WHERE CAST(p AS VARCHAR) = '9'

# partition cast to text in order
SELECT id FROM h WHERE CAST(p AS VARCHAR) > '2'

# partition cast to DOUBLE
SELECT id FROM h WHERE CAST(p AS DOUBLE) < 9.5

# partition try_cast to SMALLINT
SELECT id FROM h WHERE TRY_CAST(p AS SMALLINT) IN (9, 12)

# partition cast to DECIMAL
SELECT id FROM h WHERE CAST(p AS DECIMAL(5, 1)) = 9.0

# rows in a subquery
SELECT a, b FROM t WHERE (a, b) IN (SELECT a, b FROM u)

# rows not in a subquery
SELECT a, b FROM t WHERE (a, b) NOT IN (SELECT a, b FROM u WHERE a > 2)

# rows in a subquery, shown
SELECT a, b, (a, b) IN (SELECT a, b FROM u) AS i, (a, b) NOT IN (SELECT a, b FROM e) AS n FROM t

# rows in a subquery is null
SELECT a, b FROM t WHERE ((a, b) IN (SELECT a, b FROM u)) IS NULL

# any and all
SELECT a, a = ANY (SELECT a FROM u) AS i, a <> ANY (SELECT b FROM v) AS j, a < ALL (SELECT a FROM u WHERE a IS NOT NULL) AS k, a >= ALL (SELECT a FROM e) AS l FROM t

# not any
SELECT a FROM t WHERE NOT (a = ANY (SELECT b FROM v))

# any, correlated
SELECT a, b FROM t WHERE a < ANY (SELECT u.b FROM u WHERE u.a = t.b) OR a >= ALL (SELECT u.b FROM u WHERE u.a = t.a)

# any of a text
SELECT a FROM t WHERE '2' > ANY (SELECT v.b FROM v WHERE v.b = t.a)

# in the table itself
SELECT a, b NOT IN (SELECT b FROM t WHERE a = 2) AS n FROM t

# in the table itself, named again
SELECT x IN (SELECT x FROM (VALUES (5), (NULL)) u(x)) AS i FROM (VALUES (1), (5)) t(x)

# two exists
SELECT a, EXISTS (SELECT 1 FROM u WHERE u.a = t.a), EXISTS (SELECT 1 FROM u WHERE u.b = t.a) FROM t

# exists in exists, two levels
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.b = t.b AND EXISTS (SELECT 1 FROM v WHERE v.b >= t.a))

# not exists in exists, two levels
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a > t.b AND NOT EXISTS (SELECT 1 FROM v WHERE v.b = t.a AND v.b < u.a))

# scalar in scalar, two levels
SELECT a, (SELECT max(u.a + (SELECT count(*) FROM v WHERE v.b <= t.a)) FROM u WHERE u.b = t.b) AS m FROM t

# in of an outer column
SELECT a, EXISTS (SELECT 1 FROM u WHERE u.b = 1 AND t.a IN (SELECT v.b FROM v WHERE v.b < u.a)) AS i FROM t

# first of correlated
SELECT a, b, (SELECT u.s FROM u WHERE u.a >= t.a ORDER BY u.a, u.s LIMIT 1) AS s FROM t

# second of correlated
SELECT a, b, (SELECT u.a FROM u WHERE u.a >= t.b ORDER BY u.a DESC LIMIT 1 OFFSET 1) AS s FROM t

# one row at most
SELECT a, b, (SELECT u.s FROM u WHERE u.a = t.a) AS s FROM t

# correlated in limit
SELECT a, b FROM t WHERE a IN (SELECT u.a FROM u WHERE u.b >= t.b ORDER BY u.a LIMIT 1)

# correlated over limited rows
SELECT a, (SELECT count(*) FROM u WHERE u.a > d.a) AS n FROM (SELECT a, b FROM t ORDER BY a NULLS LAST, b NULLS LAST LIMIT 4) d

# subquery in order by
#ordered
SELECT a, b FROM t ORDER BY (SELECT max(u.a) FROM u WHERE u.b < t.b) NULLS FIRST, a NULLS FIRST, b NULLS FIRST

# subquery in group by
SELECT (SELECT count(*) FROM u WHERE u.a <= t.a) AS n, count(*) AS c FROM t GROUP BY (SELECT count(*) FROM u WHERE u.a <= t.a)

# subquery in an aggregate
SELECT b, sum((SELECT count(*) FROM u WHERE u.a <= t.a)) AS n, max(CASE WHEN a IN (SELECT v.b FROM v) THEN a END) AS m FROM t GROUP BY b

# subquery in a window
SELECT a, b, sum((SELECT count(*) FROM u WHERE u.a <= t.a)) OVER (ORDER BY b NULLS LAST) AS n FROM t

# subquery in having
SELECT b, count(*) AS n FROM t GROUP BY b HAVING count(*) > (SELECT count(*) FROM v WHERE v.b = t.b)

# exists in on
SELECT t.a, u.a AS o FROM t LEFT JOIN u ON t.b = u.b AND EXISTS (SELECT 1 FROM v WHERE v.b = t.a)

# in in on of full join
SELECT t.a, u.a AS o FROM t FULL JOIN u ON t.b = u.b AND u.a NOT IN (SELECT v.b FROM v)

# scalar in on
SELECT t.a, u.a AS o FROM t RIGHT JOIN u ON t.b = u.b AND t.a >= (SELECT max(v.b) FROM v WHERE v.b < t.b + 1)

# full join in a correlated subquery
SELECT a, (SELECT count(*) FROM (SELECT * FROM u WHERE u.b = t.b) q FULL JOIN v ON q.a = v.b) AS n FROM t

# rollup in a correlated subquery
SELECT a, (SELECT count(*) FROM (SELECT u.b, sum(u.a) AS s FROM u WHERE u.a >= t.a GROUP BY ROLLUP (u.b)) q) AS n FROM t WHERE a IS NOT NULL

# except in exists
SELECT a FROM t WHERE EXISTS (SELECT u.a FROM u WHERE u.b = t.b EXCEPT SELECT 2)

# except all in a correlated subquery
SELECT a, (SELECT count(*) FROM (SELECT u.b FROM u EXCEPT ALL SELECT v.b FROM v WHERE v.b >= t.a) q) AS n FROM t

# values in a correlated subquery
SELECT a, (SELECT sum(x) FROM (VALUES (t.a), (t.b), (3)) q(x)) AS s FROM t

# lateral ordered by an outer column
SELECT t.a, d.o FROM t CROSS JOIN LATERAL (SELECT t.a AS o FROM u WHERE u.b = t.b ORDER BY o LIMIT 1) d

# lateral in a with, read in exists
WITH w AS (SELECT t.a FROM t LEFT JOIN LATERAL (SELECT 1 AS o FROM u WHERE u.b = t.b) d ON TRUE) SELECT 1 AS x WHERE EXISTS (SELECT 1 FROM w)

# a condition over count
SELECT a, (SELECT count(*) IS NULL FROM u WHERE u.a = t.a) AS i, (SELECT CASE WHEN max(u.b) > 1 THEN 'a' ELSE 'b' END FROM u WHERE u.a = t.a) AS c FROM t

# keys distinct
SELECT DISTINCT a FROM (SELECT d.a, u.b, max(u.k) AS m FROM (SELECT a FROM t GROUP BY a) d JOIN u ON u.a >= d.a GROUP BY d.a, u.b) q

# keys order by
#ordered
SELECT a, b FROM (SELECT d.a, u.b, sum(u.a) AS s FROM (SELECT DISTINCT a FROM t) d CROSS JOIN u GROUP BY d.a, u.b) q ORDER BY a NULLS LAST, b DESC NULLS LAST LIMIT 5

# keys left join
SELECT t.a FROM t LEFT JOIN (SELECT d.a, u.b FROM (SELECT DISTINCT a FROM t) d CROSS JOIN u GROUP BY d.a, u.b) r ON t.a = r.a

# keys unnest
SELECT DISTINCT a FROM (SELECT a, unnest([1, 2]) AS k FROM t GROUP BY a) q

# keys group by
SELECT a, b, count(*) AS n FROM (SELECT d.a, u.b FROM (SELECT a, sum(b) AS s FROM t GROUP BY a) d CROSS JOIN u GROUP BY d.a, u.b) q GROUP BY a, b

# keys outer join
SELECT DISTINCT r.a, r.n FROM t LEFT JOIN (SELECT a, count(*) AS n FROM u GROUP BY a) r ON t.b < r.n

# lead ignore nulls
SELECT id, lead(v, 2) IGNORE NULLS OVER (ORDER BY id) AS l, lag(v, -2, -1) IGNORE NULLS OVER (ORDER BY id) AS g FROM (VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, NULL), (6, NULL), (7, 70), (8, 80), (9, NULL)) d(id, v)
#duckdb SELECT id, lead(v, 2 IGNORE NULLS) OVER (ORDER BY id) AS l, lag(v, -2, -1 IGNORE NULLS) OVER (ORDER BY id) AS g FROM (VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, NULL), (6, NULL), (7, 70), (8, 80), (9, NULL)) d(id, v)

# lag ahead before limit
#ordered
SELECT c, lag(v, -1) OVER (ORDER BY c ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS g FROM l ORDER BY c LIMIT 2

# distinct window limit
SELECT DISTINCT s, count(*) OVER (PARTITION BY s) AS n FROM t LIMIT 30

# date_trunc of a constant
SELECT date_trunc('millisecond', TIMESTAMP '1969-12-31 23:59:59.999001') AS m

# array_has with null
SELECT a, array_has([a, 1], 2) AS i, array_has([1, NULL], a) AS j FROM t
#duckdb SELECT a, list_contains([a, 1], 2) AS i, list_contains([1, NULL], a) AS j FROM t

# count distinct over
SELECT s, a, count(DISTINCT a) OVER (PARTITION BY b) AS n FROM t

# distinct ordered limited
#ordered
WITH s AS (SELECT b FROM v ORDER BY b LIMIT 3), w AS (SELECT * FROM s UNION ALL SELECT * FROM s UNION ALL SELECT * FROM s) SELECT DISTINCT b FROM w ORDER BY b LIMIT 3

# grouping sets twice
SELECT a, s, sum(b) AS n FROM t GROUP BY GROUPING SETS ((a, s), (a), (a, s))

# recursive, one column read
WITH RECURSIVE r(k, x) AS (SELECT 1 AS k, 10 AS x UNION ALL SELECT 2, 20 FROM r WHERE k = 1) SELECT x FROM r

# recursive distinct
WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n % 3 + 1 FROM r) SELECT n FROM r

# filter above distinct on
SELECT * FROM (SELECT DISTINCT ON (a) a, s FROM t WHERE a IS NOT NULL ORDER BY a, s NULLS LAST) q WHERE s = 'b'

# not in is true
SELECT a, b FROM t WHERE (a NOT IN (SELECT b FROM t)) = TRUE OR a IS NULL

# value without a row
SELECT l.c, (SELECT b FROM v WHERE b > 5) AS o FROM l WHERE (SELECT b FROM v WHERE b > 5) IS NULL AND c < 3

# rounded decimal in case
SELECT id, CASE WHEN id > 3 THEN round(d, 1) ELSE d END AS c, CASE WHEN id < 3 THEN d ELSE round(d, 1) END AS e FROM m

# rounded decimal compared
SELECT id FROM m WHERE round(d, 1) = 1.2 OR round(d, 1) > 67.35 AND round(d, 1) < 68

# rounded decimal in
SELECT id, round(d, 1) IN (1.2, 67.4) AS i FROM m WHERE round(d, 1) IN (1.2, 1.3, 67.4, -0.0)

# rounded decimal as key
SELECT round(d, 1) AS r, count(*) AS n FROM m GROUP BY round(d, 1) HAVING round(d, 1) > 1.2

# rounded decimal joined
SELECT a.id, b.id AS o FROM m a JOIN m b ON round(a.d, 1) = b.d

# rounded decimal in union
SELECT round(d, 1) AS r FROM m UNION SELECT d FROM m

# rounded and cut decimals beside doubles
SELECT id, round(d, 1) < x AS r, trunc(d) = d AS t, ceil(d) > floor(d) AS c, coalesce(round(d, 1), d) AS o, greatest(round(d, 1), d) AS g FROM m

# nullif of zeros
SELECT id, nullif(x, 0.0) AS n, nullif(x, 0) AS w, nullif(x, -0.0) AS m, nullif(r, 0) AS r FROM m

# case of zeros
SELECT id, CASE x WHEN 0 THEN 'zero' WHEN 1.5 THEN 'more' WHEN CAST('NaN' AS DOUBLE) THEN 'none' END AS c, CASE 0.0 WHEN x THEN 1 ELSE 2 END AS o FROM m

# nullif of nan
SELECT id, nullif(x, CAST('NaN' AS DOUBLE)) AS n, nullif(-x, CAST('NaN' AS DOUBLE)) AS m, nullif(-CAST('NaN' AS DOUBLE), x) AS c FROM m

# lists of zeros
SELECT id, [x] = [0.0] AS e, [0.0, x] <> [0.0, 0.0] AS n, array_position([0.0, 1.5], x) AS p, array_contains([1.5, 0.0], x) AS c FROM m WHERE x IS NOT NULL

# distinct lists of zeros
SELECT count(*) AS n FROM (SELECT DISTINCT [x] AS l FROM m) q

# groups by lists of zeros
SELECT count(*) AS n, max(n) AS o FROM (SELECT [x, 1] AS l, count(*) AS n FROM m GROUP BY [x, 1]) q

# rows of zeros
SELECT id FROM m WHERE (x, id) IN ((0.0, 1), (0.0, 2), (0.0, 3)) OR (x, 3) = (1.5, id)

# mean of large whole numbers
SELECT avg(i) AS a, avg(i) FILTER (WHERE id > 2) AS f, avg(DISTINCT i) AS d FROM m WHERE id IN (1, 2, 7, 10)

# means of large whole numbers by group
SELECT id > 4 AS g, avg(i) AS a, avg(id) AS o FROM m WHERE id IN (1, 2, 5, 7, 10) GROUP BY id > 4

# mean of large whole numbers over
SELECT id, avg(i) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS a FROM m

# sum that returns into the range
SELECT id, sum(i) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM m WHERE id NOT IN (5)

# and keeps a division
SELECT id FROM m WHERE i <> 0 AND 100 / i > 10
#duckdb SELECT id FROM m WHERE i <> 0 AND 100 // nullif(i, 0) > 10

# and behind a division
SELECT id FROM m WHERE 100 % i > 0 AND i <> 0 AND d <> 0 AND d / d = 1
#duckdb SELECT id FROM m WHERE 100 % nullif(i, 0) > 0 AND i <> 0 AND d <> 0 AND d / d = 1

# or keeps a division
SELECT id, i = 0 OR 100 / i > 10 AS o, (i = 0 OR 100 / i > 10) IS NULL AS u FROM m
#duckdb SELECT id, i = 0 OR 100 // nullif(i, 0) > 10 AS o, (i = 0 OR 100 // nullif(i, 0) > 10) IS NULL AS u FROM m

# and keeps a division in an aggregate
SELECT count(*) FILTER (WHERE i <> 0 AND 100 / i > 10) AS n, sum(CASE WHEN i <> 0 AND 100 / i > 10 THEN id END) AS s FROM m
#duckdb SELECT count(*) FILTER (WHERE i <> 0 AND 100 // nullif(i, 0) > 10) AS n, sum(CASE WHEN i <> 0 AND 100 // nullif(i, 0) > 10 THEN id END) AS s FROM m

# and keeps a cast
SELECT s FROM (VALUES ('7'), ('x'), (NULL), ('12'), ('1.5')) v(s) WHERE s <> 'x' AND s NOT LIKE '%.%' AND CAST(s AS INT) > 8

# decimals from exponents
SELECT CAST('1e2' AS DECIMAL(9,2)) AS c, CAST(s AS DECIMAL(12,3)) AS d, TRY_CAST(s || 'x' AS DECIMAL(12,3)) AS t FROM (VALUES ('1.5E3'), ('-25e-2'), ('7'), (NULL)) v(s)

# if and mod
SELECT a, if(a > 1, s, 'none') AS i, mod(k, 4) AS m, mod(a + 5, b + 1) AS o FROM t

# variance
SELECT variance(a) AS v, variance(k) AS w FROM t

# typeof
SELECT typeof(k) AS k, typeof(p) AS p, typeof(s) AS s FROM t LIMIT 1

# typeof of decimals
SELECT typeof(d) AS d, typeof(x) AS x, typeof(n) AS n FROM m LIMIT 1

# span beside interval
SELECT id, t6 - t3 > INTERVAL '5000 days' AS a, t6 - t0 <= INTERVAL '1 month' AS b, t3 - t0 BETWEEN INTERVAL '-1 day' AND INTERVAL '1 year' AS c, t6 - t3 IN (INTERVAL '0 days') AS d, CASE WHEN t0 - t3 > INTERVAL '1 day' THEN 'late' ELSE 'early' END AS e FROM c

# span in where
SELECT id FROM c WHERE t3 - t0 > INTERVAL '2 days' OR INTERVAL '100 years' < t0 - t6

# span in join
SELECT a.id, b.id AS o FROM c a JOIN c b ON a.t6 - b.t6 < INTERVAL '1 year' AND a.t6 - b.t6 > INTERVAL '-12 months'

# intervals compared
SELECT INTERVAL '1 month' = INTERVAL '30 days' AS a, INTERVAL '1 day' = INTERVAL '24 hours' AS b, INTERVAL '1 month' < INTERVAL '31 days' AS c, INTERVAL '1 year' > INTERVAL '361 days' AS d, INTERVAL '40 days' IN (INTERVAL '1 month 10 days') AS e, INTERVAL '1 month' IS DISTINCT FROM INTERVAL '30 days' AS f

# intervals sorted
#ordered
SELECT b FROM (VALUES (1, INTERVAL '40 days'), (2, INTERVAL '1 month'), (3, INTERVAL '25 hours'), (4, INTERVAL '1 day')) q(b, x) ORDER BY x

# intervals grouped
SELECT count(*) AS n, max(x) = INTERVAL '40 days' AS a, min(x) = INTERVAL '1 day' AS b FROM (VALUES (INTERVAL '40 days'), (INTERVAL '1 month'), (INTERVAL '30 days'), (INTERVAL '1 day'), (INTERVAL '24 hours')) q(x) GROUP BY x > INTERVAL '29 days'

# intervals distinct
SELECT count(DISTINCT x) AS n FROM (VALUES (INTERVAL '40 days'), (INTERVAL '1 month'), (INTERVAL '30 days'), (INTERVAL '1 month 10 days')) q(x)

# span parts
SELECT id, extract(day FROM t6 - t3) AS d, extract(hour FROM t6 - t3) AS h, extract(minute FROM t6 - t3) AS m, extract(second FROM t6 - t3) AS s, extract(hour FROM t3 - t6) AS n FROM c

# span times number
SELECT id, t0 + 2 * (t0 - TIMESTAMP '2001-01-14 00:00:00') AS a, t0 - (t0 - TIMESTAMP '2001-01-14 00:00:00') * 3 AS b FROM c WHERE id IN (1, 2)

# quarter
SELECT id, t0 + INTERVAL '1 quarter' AS a, t0 - INTERVAL '2' QUARTER AS b FROM c WHERE id IN (1, 2, 5)

# ranks less ranks
SELECT l.v, rank() OVER (ORDER BY v) - dense_rank() OVER (ORDER BY v DESC) AS d, -rank() OVER (ORDER BY v) AS m, ntile(3) OVER (ORDER BY v, c) - 5 AS n FROM l WHERE c < 20

# row numbers less row numbers
SELECT c, r - lag(r, 1, 100) OVER (ORDER BY c DESC) AS d, r / 10 AS p FROM (SELECT c, row_number() OVER (ORDER BY c) AS r FROM l WHERE c < 20) q
#duckdb SELECT c, r - lag(r, 1, 100) OVER (ORDER BY c DESC) AS d, r // 10 AS p FROM (SELECT c, row_number() OVER (ORDER BY c) AS r FROM l WHERE c < 20) q

# running extreme sorted
#ordered
SELECT max(b) OVER (ORDER BY k, a ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS o FROM t ORDER BY o NULLS LAST LIMIT 4

# running least sorted
#ordered
SELECT min(b) OVER (ORDER BY k, a ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) AS o FROM t ORDER BY o DESC NULLS LAST

# range over a decimal without room
SELECT count(*) OVER (ORDER BY d RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) AS n FROM (VALUES (CAST('0.5' AS DECIMAL(17, 17))), (CAST('-0.5' AS DECIMAL(17, 17)))) q(d)

# range of a part of the unit
SELECT count(*) OVER (ORDER BY t0 RANGE BETWEEN INTERVAL '500 milliseconds' PRECEDING AND CURRENT ROW) AS n FROM c

# two orders
SELECT string_agg(s, '|' ORDER BY k, a) AS a, string_agg(s, '|' ORDER BY k DESC, a DESC) AS b, string_agg(DISTINCT s, ',' ORDER BY s) AS d FROM u

# interval beside text
SELECT INTERVAL '1 month' = '30 days' AS a, id, t6 - t3 > '1 day' AS b FROM c

# far date in coalesce
SELECT coalesce(t, DATE '9999-12-31') AS a, CASE WHEN t IS NULL THEN DATE '9999-12-31' ELSE t END AS b, t < coalesce(t, DATE '9999-12-31') AS d FROM (VALUES (TIMESTAMP '2020-01-01 10:00:00'), (NULL)) q(t)

# at time zone of a local time
SELECT id, t0 AT TIME ZONE 'America/New_York' AT TIME ZONE 'Asia/Tokyo' AS a FROM c WHERE id IN (1, 2, 5, 6)

# cast of a group
SELECT s::VARCHAR || '!' AS n, k::INT, count(*) FROM t GROUP BY s, k

# casts in order of their numbers
#ordered
SELECT k::INT, count(*) FROM t GROUP BY k ORDER BY 1

# casts of two tables, grouped
SELECT t.k::INT, u.a::VARCHAR, count(*) FROM t JOIN u ON t.a = u.a GROUP BY t.k, u.a ORDER BY 1, 2

# distinct casts in order
#ordered
SELECT DISTINCT k::VARCHAR FROM t ORDER BY k::VARCHAR

# distinct casts of a table in order
#ordered
SELECT DISTINCT t.k::VARCHAR, a FROM t ORDER BY a, k::VARCHAR DESC

# distinct values in order
#ordered
SELECT DISTINCT upper(s), a % 2 FROM t ORDER BY a % 2, upper(s)

# windows over a cast and its column
SELECT a, max(k::VARCHAR) OVER w, max(k) OVER w FROM t WINDOW w AS (ORDER BY a)

# counts of a cast and of its column
SELECT count(DISTINCT k), count(DISTINCT k::VARCHAR), max(k::VARCHAR), max(k) FROM t

# having of a column beside its cast
SELECT a, max(k::VARCHAR) FROM t GROUP BY a HAVING max(k) = 7

# a count that is named as a group
SELECT t.a, count(*) a FROM t GROUP BY a

# quotient in order of its number
#ordered
SELECT s, sum(k) * 1e0 / count(*) FROM t GROUP BY s ORDER BY 2 DESC NULLS LAST, 1

# expressions of groups in order of their numbers
#ordered
SELECT a + 1, upper(s), count(*) FROM t GROUP BY a, s ORDER BY 2, 1 DESC NULLS LAST

# share of all in order of its number
#ordered
SELECT a, 100e0 * count(*) / sum(count(*)) OVER () FROM t GROUP BY a ORDER BY 2 DESC, 1

# ranks of groups in order of their number
#ordered
SELECT a, rank() OVER (ORDER BY count(*) DESC, a) FROM t GROUP BY a ORDER BY 2

# one row in order of its number
SELECT max(a) + 1, count(*) FROM t ORDER BY 1, 2

# constants of groups in order of their number
#ordered
SELECT 'x', a FROM t GROUP BY a ORDER BY 1, 2 DESC NULLS LAST

# distinct expressions of groups in order
#ordered
SELECT DISTINCT a % 2 FROM t GROUP BY a ORDER BY 1

# distinct expressions of groups in their own order
#ordered
SELECT DISTINCT -a FROM t GROUP BY a ORDER BY -a

# an alias in a group's expression
#ordered
SELECT a - b, count(*) AS b FROM t GROUP BY a, t.b ORDER BY 1, 2

# a sum of a column whose name an alias has
#ordered
SELECT a AS k, sum(k) FROM t GROUP BY a ORDER BY sum(k), a

# a sum that is named as its column
#ordered
SELECT a, sum(k) AS k FROM t GROUP BY a HAVING sum(k) > 7 ORDER BY sum(k)

# subqueries of groups in order of their number
#ordered
SELECT EXISTS (SELECT 1 FROM u WHERE u.a = t.a), a FROM t GROUP BY a ORDER BY 1, 2

# count of another table in order, beside a count
#ordered
SELECT a, count(*) FROM t GROUP BY a ORDER BY (SELECT count(*) FROM u WHERE u.a = t.a), a

# labels of totals
SELECT coalesce(CAST(a AS VARCHAR), 'all'), sum(k) FROM t GROUP BY ROLLUP(a)

# labels of totals by grouping
#ordered
SELECT CASE WHEN grouping(s) = 1 THEN 'total' ELSE s END, count(*) FROM t GROUP BY ROLLUP(s) ORDER BY grouping(s), s

# labels of totals in order of their number
#ordered
SELECT CASE WHEN grouping(a) = 1 THEN 'total' ELSE a::VARCHAR END, count(*) FROM t GROUP BY ROLLUP(a) ORDER BY 1, 2

# having of keys of sets
SELECT a, s, count(*) FROM t GROUP BY GROUPING SETS ((a), (s), ()) HAVING coalesce(a, 0) + coalesce(length(s), 0) > 1

# order of keys of sets
#ordered
SELECT a, sum(k) FROM t GROUP BY CUBE(a) ORDER BY coalesce(a, 99), sum(k)

# intersect in exists
SELECT a FROM t WHERE EXISTS (SELECT k FROM t o WHERE o.a = t.a INTERSECT SELECT 10)

# except in not exists
SELECT a FROM t WHERE NOT EXISTS (SELECT k FROM t o WHERE o.a = t.a EXCEPT SELECT 7)

# in an except
SELECT a FROM t WHERE k IN (SELECT k FROM t o WHERE o.a = t.a EXCEPT SELECT 10)

# except of two correlated queries
SELECT a FROM t WHERE EXISTS (SELECT k FROM t o WHERE o.a = t.a EXCEPT ALL SELECT k FROM t i WHERE i.b = t.b)

# rollup without an aggregate in a correlated subquery
SELECT a, (SELECT count(*) FROM (SELECT b FROM u WHERE u.a = t.a GROUP BY ROLLUP (b)) d) AS n FROM t

# in a rollup without an aggregate
SELECT a, b FROM t WHERE b IN (SELECT b FROM u WHERE u.a = t.a GROUP BY CUBE (b, k))

# exists of both sides in on of left join
SELECT t.a, u.a AS c FROM t LEFT JOIN u ON t.a = u.a AND EXISTS (SELECT 1 FROM v WHERE v.b >= t.b AND v.b <= u.b)

# exists of both sides in on of right join
SELECT t.a, u.a AS c FROM t RIGHT JOIN u ON EXISTS (SELECT 1 FROM v WHERE v.b = t.b AND v.b < u.b)

# exists of both sides in on of full join
SELECT t.a, u.a AS c FROM t FULL JOIN u ON t.a = u.a AND EXISTS (SELECT 1 FROM v WHERE v.b >= t.b AND v.b <= u.b)

# count of both sides in on of full join
SELECT t.a, u.a AS c FROM t FULL JOIN u ON t.k = u.k AND (SELECT count(*) FROM v WHERE v.b > t.b OR v.b > u.a) > 0

# in of both sides in on of left join
SELECT t.a, u.a AS c FROM t LEFT JOIN u ON t.a + u.a IN (SELECT o.k - t.b FROM t o WHERE o.s = u.s)

# all of one side beside the other in on
SELECT t.a, u.a AS c FROM t LEFT JOIN u ON t.a = u.a AND u.k >= ALL (SELECT o.k FROM t o WHERE o.a = t.a)

# subquery in a filter
SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)) AS n, sum(k) FILTER (WHERE a NOT IN (SELECT b FROM v)) AS m FROM t

# in in a sum of cases
SELECT b, sum(CASE WHEN a IN (SELECT b FROM v) THEN 1 ELSE 0 END) AS n FROM t GROUP BY b

# subquery in distinct aggregates
SELECT count(DISTINCT (SELECT max(u.k) FROM u WHERE u.a = t.a)) AS n FROM t

# grouped by in
SELECT a IN (SELECT b FROM v) AS hit, count(*) AS n FROM t GROUP BY hit

# subquery in the order of a window
SELECT a, b, rank() OVER (ORDER BY (SELECT max(u.k) FROM u WHERE u.a = t.a) NULLS FIRST) AS n FROM t

# coalesce of a subquery without a row
SELECT a, coalesce((SELECT l.b FROM v l WHERE l.b = t.a + 1), 7) AS o FROM t

# first of correlated by another column
SELECT a, (SELECT s FROM u WHERE u.b <= t.a ORDER BY k DESC, s LIMIT 1) AS o FROM t

# exists in exists in exists
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND EXISTS (SELECT 1 FROM v WHERE v.b = t.b AND NOT EXISTS (SELECT 1 FROM e WHERE e.a = t.a AND e.b = u.b)))

# text before any and all of numbers
SELECT a, '2' <= ANY (SELECT b FROM v WHERE v.b <= t.a) AS i, '2' > ALL (SELECT b FROM v WHERE v.b < t.a) AS j FROM t

# lateral of two values
SELECT t.a, l.x FROM t CROSS JOIN LATERAL (SELECT t.a UNION ALL SELECT t.b) l(x)

# lateral aggregate in a left join
SELECT t.a, l.n FROM t LEFT JOIN LATERAL (SELECT b, count(*) AS n FROM u WHERE u.a = t.a GROUP BY b HAVING count(*) > 0) l ON TRUE

# lateral of a lateral
SELECT t.a, l.n, r.q FROM t CROSS JOIN LATERAL (SELECT t.a + 1 AS n) l CROSS JOIN LATERAL (SELECT l.n * 2 + t.b AS q) r

# with in a with of its name
WITH q AS (SELECT 1 AS x), r AS (WITH q AS (SELECT q.x + 4 AS x FROM q) SELECT q.x FROM q) SELECT q.x, r.x AS y FROM q, r

# with of its name in a value
WITH q AS (SELECT 1 AS x) SELECT (WITH q AS (SELECT 2 AS x) SELECT x FROM q) AS y, x FROM q

# with of its name in exists
WITH q AS (SELECT b AS x FROM v) SELECT x FROM q WHERE EXISTS (WITH q AS (SELECT a AS y FROM t) SELECT 1 FROM q o WHERE o.y = q.x + 1)

# with of its name in a union
WITH q AS (SELECT 1 AS x) (SELECT x FROM q) UNION ALL (WITH q AS (SELECT 2 AS x) SELECT x FROM q)

# with that hides a table
WITH v AS (SELECT b + 10 AS b FROM v) SELECT b FROM v

# recursion from equal constants
WITH RECURSIVE f(n, a, b) AS (SELECT 1, 0, 1 UNION ALL SELECT n + 1, b, a + b FROM f WHERE n < 10) SELECT max(b) AS m FROM f

# a with with names of columns in on
WITH q(k, v) AS (VALUES (1, 10), (2, 20)) SELECT a.k, b.v FROM q a LEFT JOIN q b ON a.k = b.k AND EXISTS (SELECT 1 FROM q c WHERE c.k = b.k AND c.v > 10)

# order by all
#ordered
SELECT a, b, s FROM t ORDER BY ALL

# order by all from the end
#ordered
SELECT a, count(*) FROM t GROUP BY ALL ORDER BY ALL DESC NULLS LAST LIMIT 3

# order by all of all columns
#ordered
SELECT *, a + b AS n FROM t ORDER BY ALL NULLS FIRST

# order by all of a union
#ordered
SELECT a, s FROM t UNION SELECT a, s FROM u ORDER BY ALL

# order by all in a subquery
SELECT sum(x) AS n FROM (SELECT k AS x, a FROM t ORDER BY ALL LIMIT 3) d

# one aggregate by two names of its column
SELECT max(a), max(t.a), count(t.b), count(b) FROM t

# a list of fewer names than columns
WITH q(x) AS (SELECT a, b FROM t) SELECT q.x, q.b, d.y, d.s FROM q JOIN (SELECT b, s FROM u) d(y) ON d.y = q.b

# order by a column whose name an alias has
#ordered
SELECT -a AS a, b FROM t ORDER BY t.a DESC NULLS LAST, t.b

# order by a group whose name an alias has
#ordered
SELECT count(*) AS s, max(a) AS m FROM t GROUP BY t.s ORDER BY t.s

# order by a column of a join whose name an alias has
#ordered
SELECT t.a AS x, u.b + t.b AS b FROM t JOIN u ON t.a = u.a ORDER BY u.b, t.b, x

# a count beside one of another table
SELECT a, count(*), (SELECT count(*) FROM u) FROM t GROUP BY a

# a column beside one of another table
SELECT (SELECT max(b) AS b FROM u WHERE u.a = t.a), b FROM t

# all columns beside one of another table
SELECT *, (SELECT b FROM v WHERE v.b = t.b) FROM t

# a constant beside a query of it
SELECT (SELECT 1), 1 FROM v

# all columns of a left join with using, the second before the first in the alphabet
SELECT * FROM t z LEFT JOIN (SELECT a, k AS q FROM u) c USING (a)

# all columns of a natural left join, the second before the first in the alphabet
SELECT * FROM (SELECT s AS l, a, b FROM t) z NATURAL LEFT JOIN (SELECT k AS r, b, a FROM u) c

# a case of a whole number and a decimal, compared
SELECT id FROM m WHERE CASE WHEN id = 2 THEN id ELSE d END = 1.24

# a case of two decimals, compared
SELECT id FROM h WHERE CASE WHEN id = 2 THEN q ELSE CAST(0.1234 AS DECIMAL(9, 4)) END IN (0.1234, 0.10)

# a case of a whole number and a double, compared
SELECT id FROM m WHERE CASE id WHEN 2 THEN id ELSE x END BETWEEN 1.4 AND 1.6

# a case of a whole number and a decimal, compared outside
SELECT id FROM (SELECT id, CASE WHEN id = 2 THEN id WHEN id = 1 THEN NULL ELSE d END AS e FROM m) s WHERE e = 1.24 OR e > 33353.19

# decimals of a union of three, multiplied
(SELECT d * 1.5 AS e FROM m UNION ALL SELECT d * 1.5 FROM m) UNION ALL SELECT d * 1.5 FROM m

# a union of a real and a double in a correlated subquery
SELECT y FROM (SELECT r AS y FROM m UNION ALL SELECT x FROM m) s WHERE NOT EXISTS (SELECT 1 FROM m WHERE m.d = s.y)

# lists of constants that are cast
SELECT a FROM t WHERE a NOT IN (CAST(1 AS INT)) OR a NOT IN (2, CAST(2 AS INT))

# a mean between two doubles
SELECT avg(i) FROM m WHERE i = 9007199254740993

# texts of a merged column
SELECT s || s AS e, count(*) AS n FROM t NATURAL JOIN (SELECT s FROM u) v GROUP BY s || s

# a sum of decimals beside distinct values
SELECT count(DISTINCT id) AS n FROM h HAVING sum(q) > 3

# a filter of the second name of a function
SELECT mean(a) AS x, mean(a) FILTER (WHERE a > 1) AS y FROM t

# percentiles
SELECT quantile_cont(x, 0.3) AS p FROM z WHERE x < 2

# far instants with a zone
SELECT id FROM c WHERE t6 < TIMESTAMPTZ '9999-12-31 12:34:56+01:00'

# decimals of many digits as DOUBLE
SELECT id, CAST(n AS DOUBLE) AS x FROM m WHERE id < 7

# decimals of many places as DOUBLE
SELECT id FROM m WHERE CASE WHEN id = 1 THEN x ELSE CAST('0.0000000000000000000000000000000000382' AS DECIMAL(38, 37)) END = 0.0000000000000000000000000000000000382

# IN over a column without a qualifier, beside another condition
SELECT id FROM m WHERE id IN (SELECT max(a) FROM t UNION ALL SELECT 7) OR d = 67.35

# aggregates that differ in a subquery
SELECT count(*) FILTER (WHERE id IN (SELECT a FROM t)) AS x, count(*) FILTER (WHERE id IN (SELECT b FROM t)) AS y FROM m

# IN over VALUES
SELECT id FROM m WHERE id IN (VALUES (1), (5)) AND id NOT IN (VALUES (5), (9))

# negatives beside bitwise operators
SELECT id, -(i & 2) AS a, -(i | 1) AS b, i & -i AS c FROM m WHERE id < 7 AND -(id & 2) <= 0
