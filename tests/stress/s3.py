"""A client of S3 that can also misbehave: it signs with the standard library alone."""

import hashlib
import hmac
import http.client
import re
import socket
import threading
import time
from dataclasses import dataclass
from urllib.parse import quote

ACCESS_KEY, SECRET_KEY, REGION = "stress", "stress-secret", "us-east-1"
UNSIGNED = "UNSIGNED-PAYLOAD"


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Signature:
    """Signatures of version 4 at one moment."""

    def __init__(self):
        self.time = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        self.scope = f"{self.time[:8]}/{REGION}/s3/aws4_request"
        key = ("AWS4" + SECRET_KEY).encode()
        for part in (self.time[:8], REGION, "s3", "aws4_request"):
            key = mac(key, part)
        self.key = key

    def sign(self, method, path, query, headers, payload):
        pairs = sorted((quote(n, safe="-_.~"), quote(v, safe="-_.~")) for n, v in query)
        canonical = "\n".join(
            [
                method,
                path,
                "&".join(f"{n}={v}" for n, v in pairs),
                *(f"{n}:{v}" for n, v in sorted(headers.items())),
                "",
                ";".join(sorted(headers)),
                payload,
            ]
        )
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{self.time}\n{self.scope}\n{digest}"
        return mac(self.key, text).hex()

    def chunk(self, before, data):
        empty = hashlib.sha256(b"").hexdigest()
        digest = hashlib.sha256(data).hexdigest()
        text = f"AWS4-HMAC-SHA256-PAYLOAD\n{self.time}\n{self.scope}\n{before}\n{empty}\n{digest}"
        return mac(self.key, text).hex()


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def code(self):
        found = re.search(rb"<Code>(\w+)</Code>", self.body)
        return found[1].decode() if found else ""

    def field(self, name):
        """The first element of this name in the answer's XML."""
        found = re.search(f"<{name}>(.*?)</{name}>".encode(), self.body, re.S)
        return found[1].decode() if found else None


class Client:
    """One connection for each thread; `signed` is False for a server that wants no signatures."""

    def __init__(self, address, signed=True, timeout=120):
        self.host, self.port = address
        self.signed, self.timeout = signed, timeout
        self.local = threading.local()

    @property
    def authority(self):
        return f"{self.host}:{self.port}"

    def head(self, method, path, query=(), headers=None, payload=UNSIGNED, extra=(), authority=None):
        """The target and the headers of a request; `extra` headers are not signed. `path` is sent as it is, and
        `authority` is the host if it is another one."""
        query = [(n, v) for n, v in query]
        headers = {n.lower(): str(v) for n, v in (headers or {}).items()}
        headers["host"] = authority or self.authority
        if self.signed:
            now = Signature()
            headers |= {"x-amz-date": now.time, "x-amz-content-sha256": payload}
            signature = now.sign(method, path, query, headers, payload)
            self.local.signature = (now, signature)
            headers["authorization"] = (
                f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{now.scope}, "
                f"SignedHeaders={';'.join(sorted(headers))}, Signature={signature}"
            )
        target = path
        if query:
            target += "?" + "&".join(f"{quote(n, safe='-_.~')}={quote(v, safe='-_.~')}" for n, v in query)
        return target, [*headers.items(), *extra]

    def bytes(self, method, path, query=(), headers=None, length=None, body=b"", **more):
        """A request as bytes, of which `length` may say something else than its body."""
        target, lines = self.head(method, path, query, headers, **more)
        if length is not None or body or method in ("PUT", "POST"):
            lines.append(("content-length", str(len(body) if length is None else length)))
        text = "".join(f"{name}: {value}\r\n" for name, value in lines)
        return f"{method} {target} HTTP/1.1\r\n{text}\r\n".encode() + body

    def presigned(self, method, path, headers=None, life=600):
        """The target of a presigned URL that covers these headers besides Host."""
        now = Signature()
        headers = {"host": self.authority, **(headers or {})}
        query = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", f"{ACCESS_KEY}/{now.scope}"),
            ("X-Amz-Date", now.time),
            ("X-Amz-Expires", str(life)),
            ("X-Amz-SignedHeaders", ";".join(sorted(headers))),
        ]
        signature = now.sign(method, path, query, headers, UNSIGNED)
        pairs = "&".join(f"{n}={quote(v, safe='-_.~')}" for n, v in query)
        return f"{path}?{pairs}&X-Amz-Signature={signature}"

    def connect(self):
        connection = socket.create_connection((self.host, self.port), timeout=self.timeout)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def ask(self, method, path, query=(), headers=None, body=b"", **more):
        """A request and its answer; a connection that is closed meanwhile is opened again once."""
        if not more.get("payload"):
            more["payload"] = hashlib.sha256(body).hexdigest()
        target, lines = self.head(method, path, query, headers, **more)
        kept = getattr(self.local, "connection", None)
        if kept is not None:
            try:
                return self._ask(kept, method, target, lines, body)
            except (http.client.HTTPException, OSError):
                self.close()
        fresh = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
        fresh.connect()
        fresh.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.local.connection = fresh
        try:
            return self._ask(fresh, method, target, lines, body)
        except BaseException:
            self.close()
            raise

    def _ask(self, connection, method, target, lines, body):
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in lines:
            connection.putheader(name, value)
        if body or method in ("PUT", "POST"):
            connection.putheader("content-length", str(len(body)))
        connection.endheaders(body or None)
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, headers, answer.read())

    def close(self):
        kept = getattr(self.local, "connection", None)
        if kept is not None:
            kept.close()
            self.local.connection = None

    # What most attacks need.

    def put(self, path, body=b"", headers=None):
        answer = self.ask("PUT", path, headers=headers, body=body)
        assert answer.status == 200, f"PUT {path}: {answer}"
        return answer

    def get(self, path, headers=None):
        answer = self.ask("GET", path, headers=headers)
        assert answer.status in (200, 206), f"GET {path}: {answer.status} {answer.code}"
        return answer

    def select_bytes(self, path, statement, **how):
        body = select_document(statement, **how)
        query = [("select", ""), ("select-type", "2")]
        return self.bytes("POST", path, query, body=body)

    def select(self, path, statement, **how):
        """The rows of a statement, or the code of the error."""
        query = [("select", ""), ("select-type", "2")]
        answer = self.ask("POST", path, query, body=select_document(statement, **how))
        return answer.code if answer.status != 200 else rows_of(answer.body)


def select_document(statement, input="<CSV></CSV>", compression="NONE", output="<CSV></CSV>"):
    escaped = statement.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return (
        f"<SelectObjectContentRequest><Expression>{escaped}</Expression><ExpressionType>SQL</ExpressionType>"
        f"<InputSerialization><CompressionType>{compression}</CompressionType>{input}</InputSerialization>"
        f"<OutputSerialization>{output}</OutputSerialization></SelectObjectContentRequest>"
    ).encode()


def rows_of(stream):
    """The records of an event stream, or the code of the error that ends it; fails if it has no end."""
    rows, ended = [], False
    while stream:
        total, names = int.from_bytes(stream[:4], "big"), int.from_bytes(stream[4:8], "big")
        assert 16 <= total <= len(stream), "the answer breaks off within a message"
        head, payload = stream[12 : 12 + names], stream[12 + names : total - 4]
        if b"error-code" in head:
            return re.search(rb":error-code\x07..([A-Za-z]+)", head, re.S)[1].decode()
        if b"Records" in head:
            rows.append(payload)
        ended = b"\x00\x03End" in head
        stream = stream[total:]
    assert ended, "the answer has no end"
    return b"".join(rows)


def push(connection, most):
    """Sends bytes until the server takes no more, for a second; returns how many went."""
    connection.settimeout(1)
    sent, piece = 0, bytes(64 << 10)
    try:
        while sent < most:
            sent += connection.send(piece)
    except OSError:
        pass
    return sent


def read_answer(connection):
    """The first answer that comes over a connection, without its body being waited for beyond its length."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    return Answer(answer.status, headers, answer.read())
