"""Drives Flight SQL with ADBC's driver."""

import datetime
import decimal
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import adbc_driver_flightsql.dbapi as flight
import pyarrow
from adbc_driver_flightsql import DatabaseOptions
from adbc_driver_manager import Error

from same import check, rows

# The driver warns that the server has no transactions.
warnings.simplefilter("ignore")
work, password = os.environ["WORK"], os.environ["PGPASSWORD"]
protected, plain = os.environ["FLIGHT"], os.environ["OPEN_FLIGHT"]


def connect(password=password):
    with open(f"{work}/cert.pem") as file:
        certificate = file.read()
    return flight.connect(protected, {
        "username": "me",
        "password": password,
        DatabaseOptions.TLS_ROOT_CERTS.value: certificate,
    }, autocommit=True)


def fails(run, words):
    try:
        run()
    except Error as error:
        assert words in str(error), error
        return
    raise AssertionError(f"no error: {words}")


def statements(number):
    with open(f"{work}/queries/{number}.sql") as file:
        text = "\n".join(line for line in file.read().splitlines() if not line.startswith("--"))
    return [statement for statement in text.split(";") if statement.strip()]


def shown(value):
    return "" if value is None else str(value)


def queries():
    with connect() as connection, connection.cursor() as cursor:
        for number in range(1, 23):
            found = []
            for statement in statements(number):
                cursor.execute(statement)
                table = cursor.fetch_arrow_table()
                if table.num_columns:
                    found.append(table.column_names)
                    found.extend([shown(value) for value in row.values()] for row in table.to_pylist())
            check(rows(f"{work}/expected/{number}.csv"), found, f"ADBC, query {number}")


def types():
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT DATE '2000-01-02' AS d, CAST('-12.50' AS DECIMAL(9, 2)) AS n, X'00ff' AS b, "
            "TIMESTAMP '2000-01-02 03:04:05.6' AS t, make_array(1, NULL) AS l, NULL AS x, 'é' AS s, "
            "named_struct('a', 1) AS o, CAST(1.5 AS REAL) AS f, true AS y"
        )
        table = cursor.fetch_arrow_table()
        assert pyarrow.types.is_decimal(table.schema.field("n").type), table.schema
        assert table.to_pylist() == [{
            "d": datetime.date(2000, 1, 2), "n": decimal.Decimal("-12.50"), "b": b"\x00\xff",
            "t": datetime.datetime(2000, 1, 2, 3, 4, 5, 600000), "l": [1, None], "x": None, "s": "é",
            "o": {"a": 1}, "f": 1.5, "y": True,
        }], table.to_pylist()


def parameters():
    with connect() as connection, connection.cursor() as cursor:
        for value in (7, 1 << 40, 1.5, "it's", b"\x00\xff", True, datetime.date(2000, 1, 2),
                      decimal.Decimal("-12.50"), datetime.datetime(2000, 1, 2, 3, 4, 5, 600000), [1, 2, 3]):
            cursor.execute("SELECT ? AS value", [value])
            found = cursor.fetchone()[0]
            assert found == value, (value, found)
        cursor.execute(
            "SELECT count(*) FROM lineitem WHERE l_shipdate <= ? AND l_quantity < ? AND l_returnflag = ?",
            [datetime.date(1998, 9, 2), decimal.Decimal("24"), "R"],
        )
        assert 0 < cursor.fetchone()[0] < 60_000
        instant = pyarrow.array([946782245000000001], pyarrow.timestamp("ns", "UTC"))
        cursor.adbc_prepare("SELECT ? AS value")
        cursor.execute("SELECT ? AS value", pyarrow.record_batch([instant], ["1"]))
        assert cursor.fetch_arrow_table().column(0).cast(pyarrow.int64())[0].as_py() == 946782245000000001
        cursor.executemany("SELECT n_name FROM nation WHERE n_nationkey = ?", [[1], [2]])
        fails(lambda: cursor.execute("SELECT ? + ?", [1]), "2 parameters")


def errors():
    fails(lambda: connect("wrong").cursor().execute("SELECT 1"), "password")
    with connect() as connection, connection.cursor() as cursor:
        fails(lambda: cursor.execute("SELECT nonsense FROM nation"), "Hint: ")
        fails(lambda: cursor.execute("CREATE TABLE t AS SELECT 1 AS a"), "statements that read")
        table = pyarrow.table({"a": [1]})
        fails(lambda: cursor.adbc_ingest("t", table), "not supported")
        cursor.execute("CREATE VIEW mine AS SELECT 1 AS a")
        cursor.execute("SELECT * FROM mine")
        assert cursor.fetchall() == [(1,)]
        with connect() as other:
            fails(lambda: other.cursor().execute("SELECT * FROM mine"), "mine")


def metadata():
    with connect() as connection:
        info = connection.adbc_get_info()
        assert info["vendor_name"] == "Sluicegate" and info["vendor_version"], info
        assert connection.adbc_get_table_types() == ["TABLE", "VIEW"]
        schema = connection.adbc_get_table_schema("lineitem")
        assert len(schema) == 16 and schema.field("l_shipdate").type == pyarrow.date32(), schema
        objects = connection.adbc_get_objects(table_name_filter="line%").read_all().to_pylist()
        tables = [table for catalog in objects for schema in catalog["catalog_db_schemas"]
                  for table in schema["db_schema_tables"]]
        assert [table["table_name"] for table in tables] == ["lineitem"], objects
        assert len(tables[0]["table_columns"]) == 16


def sixty_four():
    failures, ready, done = [], threading.Barrier(65), threading.Event()

    def session(number):
        try:
            with flight.connect(plain, autocommit=True) as connection, connection.cursor() as cursor:
                cursor.execute("SELECT 1")
                cursor.fetchall()
                ready.wait(120)
                for _ in range(3):
                    cursor.execute(
                        f"SELECT {number}, count(*) FROM lineitem WHERE l_linenumber = {number % 7 + 1}")
                    found = cursor.fetchone()
                    assert found[0] == number and found[1] > 0, found
                done.wait(120)
        except Exception as error:  # noqa: BLE001
            failures.append((number, error))
            ready.abort()

    threads = [threading.Thread(target=session, args=[number]) for number in range(64)]
    for thread in threads:
        thread.start()
    ready.wait(120)
    connection = flight.connect(plain, autocommit=True)
    fails(lambda: connection.cursor().execute("SELECT 1"), "64 sessions already")
    done.set()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]


def ticks(process):
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


LONG = ("SELECT count(*) FROM generate_series(1, 100000000) a, generate_series(1, 1000) b "
        "WHERE a.value % 7 = b.value % 11")


def stopped(server, what, since, limit):
    while True:
        before = ticks(server)
        time.sleep(0.2)
        if ticks(server) - before <= 2:
            break
        assert time.monotonic() - since < 10, "the statement still runs"
    # The last window had no work.
    took = max(time.monotonic() - since - 0.2, 0)
    print(f"the statement stopped {took:.1f} s after {what}")
    assert took < limit, took


def runs(server):
    before = ticks(server)
    time.sleep(0.5)
    assert ticks(server) - before > 5, "the statement does not run"


def killed():
    """The statement of a client that is killed, or cancels, stops within a second, or two on a busy machine."""
    server = int(os.environ["OPEN_SERVER"])
    code = (f"import adbc_driver_flightsql.dbapi as flight; c = flight.connect({plain!r}, autocommit=True).cursor();"
            f"c.execute({LONG!r}); c.fetchall()")
    client = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code])
    time.sleep(3)
    runs(server)
    os.kill(client.pid, signal.SIGKILL)
    client.wait()
    stopped(server, "its client was killed", time.monotonic(), 2)
    with flight.connect(plain, autocommit=True) as connection, connection.cursor() as cursor:
        thread = threading.Thread(target=lambda: fails(lambda: (cursor.execute(LONG), cursor.fetchall()), ""))
        thread.start()
        time.sleep(1)
        runs(server)
        cursor.adbc_cancel()
        stopped(server, "it was cancelled", time.monotonic(), 2)
        thread.join()


def a_thousand():
    connections = []
    for _ in range(1000):
        connection = flight.connect(os.environ["MANY_FLIGHT"], autocommit=True)
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchall()
        connections.append(connection)
    with connections[0].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM nation")
        assert cursor.fetchall() == [(25,)]
    for connection in connections:
        connection.close()


steps = [globals()[name] for name in sys.argv[1:]]
for step in steps or (queries, types, parameters, errors, metadata, sixty_four, killed, a_thousand):
    step()
    print(f"Flight SQL, {step.__name__}: good", flush=True)
