"""Signals, threads, forks, leaks, and the command."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time

import polars
import psutil
import pyarrow
import pytest
import sluicegate
from conftest import SLOW

SLUICE = os.path.join(sysconfig.get_path("scripts"), "sluice")


@pytest.mark.parametrize(
    "read",
    ["result.fetchall()", "result.to_arrow()", "pyarrow.table(result)", "result.to_polars()", "result.to_pandas()"],
)
def test_control_c_stops_a_query(read):
    script = f"""
import pyarrow, sluicegate, sys
connection = sluicegate.connect("http://127.0.0.1:1", store="get-only")
result = connection.sql({SLOW!r})
try:
    print("ready", flush=True)
    try:
        {read}
    except pyarrow.ArrowInvalid:
        # An exception of pyarrow comes first.
        print("again", file=sys.stderr)
    print("it ended", flush=True)
except KeyboardInterrupt:
    print("stopped", flush=True)
print(connection.sql("SELECT 1").fetchall())
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(1)
            begun = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "stopped\n"
            assert time.monotonic() - begun < 2
            assert process.stdout.readline() == "[(1,)]\n"
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_control_c_stops_planning(tmp_path):
    # The store accepts connections and never answers.
    script = """
import socket, sluicegate
listener = socket.create_server(("127.0.0.1", 0))
url = f"http://127.0.0.1:{listener.getsockname()[1]}"
connection = sluicegate.connect(url, store="get-only", access_key="k", secret_key="s")
print("ready", flush=True)
try:
    connection.sql("SELECT * FROM 's3://bucket/x.csv'")
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "stopped\n"
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_handlers_of_other_signals_run_meanwhile():
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(time.monotonic()))
    try:
        with sluicegate.serve(latency=0.4) as store, store.connect(store="get-only") as connection:
            (store.path / store.bucket("bucket") / "x.csv").write_text("a\n1\n")
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            connection.sql("SELECT * FROM 's3://bucket/x.csv'").fetchall()
            ended = time.monotonic()
        assert seen and seen[0] < ended - 0.2
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("read", ["fetchall", "to_arrow", "to_polars", "to_pandas"])
def test_other_threads_go_on_while_a_query_runs(read):
    count, ended = 0, threading.Event()

    def work():
        nonlocal count
        while not ended.wait(0.005):
            count += 1

    with sluicegate.serve(latency=0.2) as store, store.connect(store="get-only") as connection:
        (store.path / store.bucket("bucket") / "x.csv").write_text("a\n1\n")
        thread = threading.Thread(target=work)
        thread.start()
        try:
            result = connection.sql("SELECT * FROM 's3://bucket/x.csv'")
            count, begun = 0, time.monotonic()
            getattr(result, read)()
            seconds = time.monotonic() - begun
        finally:
            ended.set()
            thread.join()
    assert seconds >= 0.2
    assert count > seconds / 0.005 / 5, (count, seconds)


def test_threads_share_a_connection(connection, fruit):
    answers, errors = [], []

    def work(n):
        try:
            for _ in range(10):
                answers.append(connection.sql(f"SELECT sum(price) + {n} FROM '{fruit}'").to_arrow().to_pylist())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert sorted(next(iter(answer[0].values())) for answer in answers) == sorted(7 + n for n in range(8) for _ in range(10))


def test_threads_cannot_share_a_cursor_by_accident(connection):
    result = connection.sql("SELECT value FROM generate_series(1, 1000)")
    assert len(result.fetchmany(1)) == 1
    assert result.fetchmany(0) == []


def in_child(work):
    """Run work in a forked child; return its exit code."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_gets_an_error(sluice_store, fruit):
    connection = sluice_store.connect()
    result = connection.sql(f"SELECT sum(price) FROM '{fruit}'")
    reader = pyarrow.RecordBatchReader.from_stream(connection.sql("SELECT value FROM generate_series(1, 1000000)"))
    reader.read_next_batch()
    cursor = connection.sql(f"SELECT price FROM '{fruit}' ORDER BY 1")
    assert cursor.fetchone() == (3,)

    def work():
        nonlocal result, reader, connection
        keys = {"access_key": sluice_store.access_key, "secret_key": sluice_store.secret_key}
        for use in (
            lambda: connection.sql("SELECT 1"), result.fetchall, result.to_arrow, cursor.fetchall, result.stats,
            lambda: sluicegate.connect(sluice_store.endpoint, **keys), sluicegate.serve,
        ):
            try:
                use()
            except sluicegate.Error as error:
                assert "fork" in str(error) and "spawn" in error.hint
            else:
                raise AssertionError("it worked")
        sluice_store.stop()
        del result, reader, connection
        gc.collect()

    assert in_child(work) == 0
    # The parent is as before.
    assert sluice_store.running and sluice_store.path.exists()
    assert result.fetchall() == [(7,)] and cursor.fetchall() == [(4,)]
    assert sum(batch.num_rows for batch in reader) > 0


def test_a_child_that_is_forked_before_the_first_connection_may_connect():
    script = """
import os, sluicegate
for _ in range(2):
    if os.fork() == 0:
        print(sluicegate.connect("http://127.0.0.1:1", store="get-only").sql("SELECT 1").fetchall(), flush=True)
        os._exit(0)
    os.wait()
"""
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "[(1,)]\n" * 2


def test_thousands_of_queries_leave_no_memory(connection, fruit):
    connection.register("numbers", {"n": list(range(1000))})

    def some():
        for n in range(100):
            connection.sql(f"SELECT n, '{n}' AS t FROM numbers").to_arrow()
            polars.DataFrame(connection.sql(f"SELECT sum(n) + {n} AS s FROM numbers"))
            connection.sql("SELECT n FROM numbers").fetchone()
            connection.register("frame", pyarrow.table({"a": list(range(100))}))
            with pytest.raises(sluicegate.DataError):
                connection.sql("SELECT 1 / (n - n) FROM numbers").to_arrow()
        gc.collect()

    some()
    some()
    process = psutil.Process()
    before, objects = process.memory_info().rss, len(gc.get_objects())
    for _ in range(5):
        some()
    grown = (process.memory_info().rss - before) / 1e6
    assert grown < 40, f"{grown:.0f} MB after 2,500 statements"
    assert len(gc.get_objects()) - objects < 1000


def test_the_command_is_installed():
    assert subprocess.check_output([SLUICE, "--version"], text=True) == f"sluice {sluicegate.__version__}\n"
    wrong = subprocess.run([SLUICE, "sql", "--nonsense"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "--nonsense" in wrong.stderr
    failed = subprocess.run([SLUICE, "sql", "SELECT nothing"], capture_output=True, text=True)
    assert failed.returncode == 1 and failed.stderr.startswith("error: ")
    answer = subprocess.check_output([SLUICE, "sql", "--format", "csv", "SELECT 1 AS one"], text=True)
    assert answer == "one\n1\n"
    module = subprocess.check_output([sys.executable, "-m", "sluicegate", "sql", "--format", "csv", "SELECT 1 AS one"], text=True)
    assert module == answer


def test_a_closed_pipe_ends_the_command():
    command = f"{SLUICE} sql --format csv 'SELECT value FROM generate_series(1, 1000000)' | head -1"
    ran = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("value\n", "")


def test_control_c_stops_the_command():
    with subprocess.Popen([SLUICE, "sql", SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        assert "Traceback" not in process.stderr.read()


def test_the_command_starts_itself(tmp_path):
    # Its nodes are processes of the same program.
    helped = subprocess.check_output([SLUICE, "switch", "--help"], text=True)
    if "udp" not in helped:
        pytest.skip("no command starts processes")
    ran = subprocess.run([SLUICE, "switch", "udp", "--help"], capture_output=True, text=True)
    assert ran.returncode == 0
    assert shutil.which(SLUICE)
