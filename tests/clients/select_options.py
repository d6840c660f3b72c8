"""Every option of SelectObjectContent, asked for with boto3, and every kind of error.

Reads ENDPOINT and the AWS_ variables. What boto3 does not check is checked here: an answer without
its End event is a failure."""

import bz2
import gzip
import io
import os

import boto3
import botocore.exceptions

BUCKET = "select-options"
s3 = boto3.client(
    "s3",
    endpoint_url=os.environ["ENDPOINT"],
    config=botocore.config.Config(retries={"total_max_attempts": 1}),
)

ALL = "SELECT * FROM S3Object"
ROWS = b"a,1\nb,2\nc,3\n"


class Failed(Exception):
    """An error: its code, and whether it came before the answer or in it."""


def select(body, expression, read=None, write=None, compression=None, **options):
    """The rows, the Stats and how many Progress events there were."""
    s3.put_object(Bucket=BUCKET, Key="object", Body=body)
    read = {"CSV": {}} if read is None else read
    if compression:
        read = {**read, "CompressionType": compression}
    try:
        answer = s3.select_object_content(
            Bucket=BUCKET,
            Key="object",
            ExpressionType=options.pop("ExpressionType", "SQL"),
            Expression=expression,
            InputSerialization=read,
            OutputSerialization={"CSV": {}} if write is None else write,
            **options,
        )
    except botocore.exceptions.ClientError as error:
        raise Failed("early", error.response["Error"]["Code"]) from None
    rows, stats, progress, ended = b"", None, 0, False
    try:
        for event in answer["Payload"]:
            assert not ended, "something follows the End event"
            rows += event.get("Records", {}).get("Payload", b"")
            stats = event.get("Stats", {}).get("Details", stats)
            progress += "Progress" in event
            ended |= "End" in event
    except botocore.exceptions.EventStreamError as error:
        raise Failed("late", error.response["Error"]["Code"]) from None
    assert ended and stats["BytesReturned"] == len(rows)
    return rows, stats, progress


checked = 0


def check(expected, body, expression=ALL, **options):
    global checked
    checked += 1
    rows, _, _ = select(body, expression, **options)
    assert rows == expected, f"{expression} {options}: {rows} is not {expected}"


def refuse(when, code, body, expression=ALL, **options):
    global checked
    checked += 1
    try:
        rows, _, _ = select(body, expression, **options)
    except Failed as failed:
        assert failed.args == (when, code), f"{expression} {options}: {failed.args}"
    else:
        raise AssertionError(f"{expression} {options}: {rows} and not {code}")


def csv(**options):
    return {"CSV": options}


def json(kind):
    return {"JSON": {"Type": kind}}


def csv_input():
    check(ROWS, ROWS)
    for header, expected in [("NONE", b"a\nb\nc\n"), ("IGNORE", b"b\nc\n"), ("USE", b"b\nc\n")]:
        check(expected, ROWS, "SELECT _1 FROM S3Object", read=csv(FileHeaderInfo=header))
    named = b"Name,\"two words\",date\nx,y,z\n"
    use = csv(FileHeaderInfo="USE")
    check(b"x,y,z\n", named, 'SELECT s.NAME, s."two words", s."date" FROM S3Object s', read=use)
    refuse("early", "MissingHeaders", named, "SELECT s.nothing FROM S3Object s", read=use)
    refuse("early", "AmbiguousFieldName", b"a,A\n1,2\n", "SELECT a FROM S3Object", read=use)
    check(b"2\n", b"a,A\n1,2\n", 'SELECT s."A" FROM S3Object s', read=use)

    check(b"2\n4\n", b"1|2\n3|4\n", "SELECT _2 FROM S3Object", read=csv(FieldDelimiter="|"))
    check(b"2\n", b"1\t2\n", "SELECT _2 FROM S3Object", read=csv(FieldDelimiter="\t"))
    check(b"2\n", "1é2\n".encode(), "SELECT _2 FROM S3Object", read=csv(FieldDelimiter="é"))
    check(b"a\nb\n", b"a;b;", read=csv(RecordDelimiter=";"))
    check(b"a\nb\n", b"a\r\nb\r\n", read=csv(RecordDelimiter="\r\n"))
    check(b"a\nb\n", b"a|\nb|\n", read=csv(RecordDelimiter="|\n"))
    check(b"a\nb\n", b"a\r\nb\r\n")
    refuse("early", "InvalidRequestParameter", ROWS, read=csv(FieldDelimiter="ab"))
    refuse("early", "InvalidRequestParameter", ROWS, read=csv(RecordDelimiter="abc"))

    second = "SELECT _2 FROM S3Object"
    check(b'"x,y"\n', b'1,"x,y",2\n', second)
    check(b'"x,y"\n', b"1,'x,y',2\n", second, read=csv(QuoteCharacter="'"))
    check(b'"a""b"\n', b'1,"a""b"\n', second)
    check(b'"a""b"\n', b'1,"a\\"b"\n', second, read=csv(QuoteEscapeCharacter="\\"))
    check(b"it's\n", b"1,'it\\'s'\n", second, read=csv(QuoteCharacter="'", QuoteEscapeCharacter="\\"))

    check(b"a\n", b"#b\na\n")
    check(b"#b\n", b"%a\n#b\n", read=csv(Comments="%"))
    refuse("late", "CSVEscapingRecordDelimiter", b'1\n"a\nb"\n')
    quoted = csv(AllowQuotedRecordDelimiter=True)
    check(b'"a\nb",1\n', b'"a\nb",1\n', read=quoted)
    check(b"1\n", b'"a\nb",1\n', "SELECT COUNT(*) FROM S3Object", read=quoted)
    refuse("late", "CSVUnescapedQuote", b'1\n"a\nb', read=quoted)
    check(b"a,\n,\n", b"a,,c\n\n,b\n", "SELECT _1, _4 FROM S3Object")


def csv_output():
    both = "SELECT _1, _2 FROM S3Object"
    check(b'"a","1"\n', b"a,1\n", both, write=csv(QuoteFields="ALWAYS"))
    check(b'a,"1,2"\n', b'a,"1,2"\n', both, write=csv(QuoteFields="ASNEEDED"))
    check(b"a|1\n", b"a,1\n", both, write=csv(FieldDelimiter="|"))
    check(b"a,1\r\nb,2\r\n", b"a,1\nb,2\n", both, write=csv(RecordDelimiter="\r\n"))
    check(b"'a,b',1\n", b'"a,b",1\n', both, write=csv(QuoteCharacter="'"))
    escaped = csv(QuoteEscapeCharacter="\\", QuoteFields="ALWAYS")
    check(b'"a\\"b","1"\n', b'"a""b",1\n', both, write=escaped)
    check(b'{"_1":"a","_2":"1"}\n', b"a,1\n", both, write={"JSON": {}})
    check(b'{"x":"a"};', b"a,1\n", "SELECT _1 AS x FROM S3Object", write={"JSON": {"RecordDelimiter": ";"}})


def json_objects():
    lines = b'{"a":1,"b":{"c":[1,"x"]}}\n{"a":2}\n'
    check(b"1\n2\n", lines, "SELECT s.a FROM S3Object s", read=json("LINES"))
    check(b'{"a":2}\n', lines, "SELECT * FROM S3Object s WHERE s.a > 1", read=json("LINES"), write={"JSON": {}})
    check(b'{"_1":"x"}\n{}\n', lines, "SELECT s.b.c[1] FROM S3Object s", read=json("LINES"), write={"JSON": {}})
    document = b'{"rows":[{"n":1},{"n":2},{"m":3}]}'
    check(b'1\n2\n""\n', document, "SELECT s.n FROM S3Object[*].\"rows\"[*] s", read=json("DOCUMENT"))
    check(b"2\n", document, "SELECT COUNT(s.n) FROM S3Object[*].\"rows\"[*] s", read=json("DOCUMENT"))
    refuse("late", "JSONParsingError", b'{"a":1}\n{"a":\n', "SELECT s.a FROM S3Object s", read=json("LINES"))
    refuse("early", "JSONParsingError", b"nonsense", "SELECT * FROM S3Object s", read=json("DOCUMENT"))


def parquet_objects():
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"k": [1, 2, 3], "v": ["a", None, "ç"], "nested": [[1], [], None]})
    for codec in ["NONE", "SNAPPY", "GZIP"]:
        written = io.BytesIO()
        pyarrow.parquet.write_table(table, written, compression=codec)
        body = written.getvalue()
        parquet = {"Parquet": {}}
        check('a\n""\nç\n'.encode(), body, "SELECT s.v FROM S3Object s", read=parquet)
        check(b"2,5\n", body, "SELECT COUNT(*), SUM(s.k) FROM S3Object s WHERE s.k > 1", read=parquet)
        check(b'{"nested":[1]}\n', body, "SELECT s.nested FROM S3Object s LIMIT 1", read=parquet, write={"JSON": {}})
        refuse("early", "InvalidRequestParameter", body, read=parquet, compression="GZIP")
        refuse("early", "ParquetParsingError", body[:-3], read=parquet)
        check(b"3\n", body, "SELECT COUNT(*) FROM S3Object", read=parquet, ScanRange={"Start": 0, "End": len(body)})


def compressed():
    for name, pack in [("GZIP", gzip.compress), ("BZIP2", bz2.compress)]:
        check(ROWS, pack(ROWS), compression=name)
        check(ROWS + ROWS, pack(ROWS) + pack(ROWS), compression=name)
        big = b"".join(b"%d,%d\n" % (n, n * n) for n in range(100_000))
        rows, stats, _ = select(pack(big), "SELECT COUNT(*) FROM S3Object", compression=name)
        assert rows == b"100000\n" and stats["BytesProcessed"] == len(big) > stats["BytesScanned"]
        assert stats["BytesScanned"] == len(pack(big))
        refuse("late", "TruncatedInput", pack(big)[: len(pack(big)) * 3 // 4], compression=name)
        refuse("early", "InvalidCompressionFormat", ROWS, compression=name)
        check(b"1\n", pack(b'{"a":1}'), "SELECT s.a FROM S3Object s", read=json("LINES"), compression=name)
        refuse("early", "UnsupportedScanRangeInput", pack(ROWS), compression=name, ScanRange={"Start": 1})


def scan_ranges():
    body = b"A,B\nC,D\nD,E\nE,F\nG,H\nI,J\n"
    for scan_range, expected in [
        ({"Start": 1, "End": 4}, b"C,D\n"),
        ({"Start": 0, "End": 0}, b"A,B\n"),
        ({"Start": 17}, b"I,J\n"),
        ({"End": 5}, b"I,J\n"),
        ({"Start": 1000}, b""),
    ]:
        check(expected, body, ScanRange=scan_range)
    check(b"2\n", b'{"a":1}\n{"a":2}\n', "SELECT s.a FROM S3Object s", read=json("LINES"), ScanRange={"Start": 1})
    refuse("early", "InvalidScanRange", body, ScanRange={"Start": 5, "End": 4})
    quoted = csv(AllowQuotedRecordDelimiter=True)
    refuse("early", "UnsupportedScanRangeInput", body, read=quoted, ScanRange={"Start": 1})
    refuse("early", "UnsupportedScanRangeInput", b"{}", read=json("DOCUMENT"), ScanRange={"Start": 1})


def progress():
    body = b"some text,1\n" * 500_000
    for enabled in [True, False]:
        _, stats, events = select(body, "SELECT COUNT(*) FROM S3Object", RequestProgress={"Enabled": enabled})
        assert (events > 0) == enabled and stats["BytesScanned"] == len(body)


def errors():
    for code, expression in [
        ("ParseExpectedExpression", "SELECT _1 FROM S3Object WHERE"),
        ("ParseSelectMissingFrom", "SELECT _1"),
        ("UnsupportedFunction", "SELECT SQRT(_1) FROM S3Object"),
        ("InvalidDataSource", "SELECT _1 FROM Elsewhere"),
        ("ExpressionTooLong", ALL + " " * (256 * 1024)),
        ("CastFailed", "SELECT CAST(_1 AS INT) FROM S3Object"),
        ("IntegerOverflow", "SELECT 9223372036854775807 + CAST(_2 AS INT) FROM S3Object"),
    ]:
        when = "late" if code in ("CastFailed", "IntegerOverflow") else "early"
        refuse(when, code, ROWS, expression)
    refuse("late", "CastFailed", b"1\n" * 100_000 + b"x\n", "SELECT CAST(_1 AS INT) FROM S3Object")
    refuse("early", "InvalidExpressionType", ROWS, ExpressionType="SQX")
    refuse("early", "InvalidCompressionFormat", ROWS, compression="ZIP")
    refuse("early", "InvalidFileHeaderInfo", ROWS, read=csv(FileHeaderInfo="MAYBE"))
    refuse("early", "InvalidQuoteFields", ROWS, write=csv(QuoteFields="NEVER"))
    refuse("early", "InvalidJsonType", ROWS, read=json("LINE"))
    refuse("early", "MissingRequiredParameter", ROWS, read={})
    refuse("early", "ObjectSerializationConflict", ROWS, read={"CSV": {}, "JSON": {"Type": "LINES"}})
    refuse("late", "InvalidTextEncoding", b"a\n\xff\n")
    check(b"", b"")
    check(b"0\n", b"", "SELECT COUNT(*) FROM S3Object")


s3.create_bucket(Bucket=BUCKET)
csv_input()
csv_output()
json_objects()
parquet_objects()
compressed()
scan_ranges()
progress()
errors()
s3.delete_object(Bucket=BUCKET, Key="object")
s3.delete_bucket(Bucket=BUCKET)
print(f"{checked} questions with options were answered as they must be")
