"""Drives the server with psycopg 3, psycopg 2 and SQLAlchemy."""

import datetime
import decimal
import os
import signal
import subprocess
import sys
import threading
import time

import psycopg
import psycopg2
import sqlalchemy
from psycopg.rows import tuple_row

from same import check, rows

work, port, open_port = os.environ["WORK"], os.environ["PORT"], os.environ["OPEN_PORT"]
tls = f"host=localhost hostaddr=127.0.0.1 port={port} user=me dbname=shop sslmode=verify-full"
plain = f"host=127.0.0.1 port={open_port} user=me dbname=shop sslmode=disable"


def queries():
    for number in range(1, 23):
        with open(f"{work}/queries/{number}.sql") as file:
            text = "\n".join(line for line in file.read().splitlines() if not line.startswith("--"))
        yield number, [statement for statement in text.split(";") if statement.strip()]


def shown(value):
    return "" if value is None else str(value)


def run_all(execute, what):
    """Runs the queries; `execute` returns names and rows, or None for a statement without rows."""
    for number, statements in queries():
        found = []
        for statement in statements:
            answer = execute(statement)
            if answer is not None:
                names, values = answer
                found.append(list(names))
                found.extend([shown(value) for value in row] for row in values)
        check(rows(f"{work}/expected/{number}.csv"), found, f"{what}, query {number}")


def psycopg_3():
    with psycopg.connect(tls, autocommit=True) as connection:
        for binary in (False, True):

            def execute(statement):
                cursor = connection.execute(statement, binary=binary, prepare=True)
                if cursor.description is None:
                    return None
                return [column.name for column in cursor.description], cursor.fetchall()

            run_all(execute, f"psycopg, binary {binary}")
        values = (
            7, 1 << 40, 1.5, decimal.Decimal("-12.50"), "it's", b"\x00\xff", True, None,
            datetime.date(2000, 1, 2), datetime.datetime(2000, 1, 2, 3, 4, 5, 600000), [1, 2, 3],
        )
        for binary in (False, True):
            cursor = connection.cursor(binary=binary)
            for value in values:
                row = cursor.execute("SELECT %s AS value", [value]).fetchone()
                assert row[0] == value or (value is None and row[0] is None), (binary, value, row)
        aware = datetime.datetime(2000, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
        assert connection.execute("SELECT %s", [aware]).fetchone()[0] == aware
        delta = datetime.timedelta(days=3, seconds=4)
        assert connection.execute("SELECT %s", [delta]).fetchone()[0] == delta
        found = connection.execute(
            "SELECT count(*) FROM nation WHERE n_regionkey = %s AND n_name < %s", [1, "M"]
        ).fetchone()
        assert found == (3,), found
        shipped = connection.execute(
            "SELECT count(*) FROM lineitem WHERE l_shipdate <= %s AND l_quantity < %s",
            [datetime.date(1998, 9, 2), decimal.Decimal("24")],
        ).fetchone()[0]
        assert 0 < shipped < 60_000, shipped
        assert connection.execute("SELECT n_name FROM nation WHERE n_nationkey = ANY(%s)", [[1, 2]]).rowcount == 2
        names = connection.execute("SELECT count(*) FROM nation WHERE n_name = ANY(%s)", [["PERU", "CHINA", "X"]])
        assert names.fetchone() == (2,)
        assert len(connection.execute("SELECT * FROM nation LIMIT %s", [3]).fetchall()) == 3
        with connection.cursor().copy("COPY (SELECT * FROM region ORDER BY 1) TO STDOUT") as copy:
            assert len(list(copy.rows())) == 5
        with connection.cursor().copy("COPY region TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(["int8", "text", "text"])
            assert sorted(row[0] for row in copy.rows()) == [0, 1, 2, 3, 4]
        try:
            connection.execute("SELECT nonsense FROM nation")
            raise AssertionError("no error")
        except psycopg.errors.UndefinedColumn as error:
            assert error.diag.message_hint, error
        try:
            connection.execute("CREATE TABLE t AS SELECT 1 AS a")
            raise AssertionError("no error")
        except psycopg.errors.ReadOnlySqlTransaction:
            pass
    # In a transaction, with a cursor of the server, and pipelined.
    with psycopg.connect(tls) as connection:
        with connection.cursor("named", row_factory=tuple_row) as cursor:
            cursor.execute("SELECT o_orderkey FROM orders ORDER BY 1 LIMIT %s", [100])
            assert len(cursor.fetchmany(30)) == 30 and len(cursor.fetchall()) == 70
        connection.rollback()
        with connection.pipeline():
            cursors = [connection.execute("SELECT %s::int + 1", [number]) for number in range(20)]
        assert [cursor.fetchone()[0] for cursor in cursors] == list(range(1, 21))
    try:
        psycopg.connect(tls + " password=wrong")
        raise AssertionError("no error")
    except psycopg.OperationalError as error:
        assert "password" in str(error), error


def cancelled():
    with psycopg.connect(tls, autocommit=True) as connection:
        threading.Timer(0.5, connection.cancel).start()
        before = time.monotonic()
        try:
            connection.execute("SELECT count(*) FROM lineitem a, lineitem b, lineitem c")
            raise AssertionError("no error")
        except psycopg.errors.QueryCanceled:
            assert time.monotonic() - before < 5
        assert connection.execute("SELECT 1").fetchone() == (1,)


def sixty_four():
    failures = []

    def session(number):
        try:
            with psycopg.connect(plain) as connection:
                for _ in range(3):
                    found = connection.execute(
                        "SELECT %s, count(*) FROM lineitem WHERE l_linenumber = %s", [number, number % 7 + 1]
                    ).fetchone()
                    assert found[0] == number and found[1] > 0, found
        except Exception as error:  # noqa: BLE001
            failures.append((number, error))

    threads = [threading.Thread(target=session, args=[number]) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]


def ticks(process):
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def killed():
    """The statement of a client that is killed stops within a second, or two on a busy machine."""
    server = int(os.environ["OPEN_SERVER"])
    code = f"import psycopg; psycopg.connect({plain!r}).execute('SELECT count(*) FROM lineitem a, lineitem b, lineitem c')"
    client = subprocess.Popen([sys.executable, "-c", code])
    time.sleep(2.5)
    before = ticks(server)
    time.sleep(0.5)
    assert ticks(server) - before > 10, "the statement does not run"
    os.kill(client.pid, signal.SIGKILL)
    client.wait()
    killed_at = time.monotonic()
    while True:
        before = ticks(server)
        time.sleep(0.2)
        if ticks(server) - before <= 2:
            break
        assert time.monotonic() - killed_at < 10, "the statement still runs"
    # The last window had no work.
    took = time.monotonic() - killed_at - 0.2
    print(f"the statement stopped {took:.1f} s after its client")
    assert took < 2, took


def psycopg_2():
    connection = psycopg2.connect(tls + f" password='{os.environ['PGPASSWORD']}'")
    connection.autocommit = True
    cursor = connection.cursor()

    def execute(statement):
        cursor.execute(statement)
        if cursor.description is None:
            return None
        return [column[0] for column in cursor.description], cursor.fetchall()

    run_all(execute, "psycopg 2")
    connection.close()


def sqlalchemy_2():
    for driver in ("psycopg", "psycopg2"):
        url = f"postgresql+{driver}://me@127.0.0.1:{open_port}/shop?sslmode=disable"
        engine = sqlalchemy.create_engine(url)
        inspector = sqlalchemy.inspect(engine)
        names = inspector.get_table_names()
        assert sorted(names) == sorted(
            ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]
        ), names
        columns = {column["name"]: column for column in inspector.get_columns("lineitem")}
        assert isinstance(columns["l_shipdate"]["type"], sqlalchemy.Date), columns
        assert isinstance(columns["l_quantity"]["type"], sqlalchemy.Numeric), columns
        assert columns["l_quantity"]["type"].scale == 2, columns
        assert inspector.get_pk_constraint("lineitem")["constrained_columns"] == []
        assert inspector.get_foreign_keys("lineitem") == []
        assert inspector.get_indexes("lineitem") == []
        assert inspector.get_unique_constraints("lineitem") == []
        assert inspector.get_check_constraints("lineitem") == []
        assert inspector.get_table_comment("lineitem") == {"text": None}
        assert "public" in inspector.get_schema_names()
        assert inspector.get_view_names() == []
        assert inspector.has_table("orders") and not inspector.has_table("nothing")
        metadata = sqlalchemy.MetaData()
        nation = sqlalchemy.Table("nation", metadata, autoload_with=engine)
        with engine.connect() as connection:
            query = sqlalchemy.select(nation.c.n_name).where(nation.c.n_regionkey == 1).order_by(nation.c.n_name)
            assert connection.execute(query.limit(2)).scalars().all() == ["ARGENTINA", "BRAZIL"]

            def execute(statement):
                answer = connection.exec_driver_sql(statement.replace("%", "%%"))
                return (list(answer.keys()), answer.fetchall()) if answer.returns_rows else None

            run_all(execute, f"SQLAlchemy, {driver}")
        engine.dispose()


for step in (psycopg_3, cancelled, sixty_four, killed, psycopg_2, sqlalchemy_2):
    step()
    print(f"{step.__name__}: good", flush=True)
