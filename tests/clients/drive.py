"""boto3 against `sluice serve`: what an ordinary client does, and what it must be refused."""

import os
import socket
import urllib.error
import urllib.request

import boto3
import botocore.config
import botocore.exceptions

s3 = boto3.client("s3", endpoint_url=os.environ["ENDPOINT"])

s3.create_bucket(Bucket="boto")
assert [b["Name"] for b in s3.list_buckets()["Buckets"]] == ["boto"]

body = b"k,v\n" + b"".join(b"%d,value-%d\n" % (k, k) for k in range(1000))
etag = s3.put_object(Bucket="boto", Key="a/b.csv", Body=body)["ETag"]
head = s3.head_object(Bucket="boto", Key="a/b.csv")
assert head["ContentLength"] == len(body) and head["ETag"] == etag
assert s3.get_object(Bucket="boto", Key="a/b.csv", Range="bytes=2-5")["Body"].read() == body[2:6]
assert s3.get_object(Bucket="boto", Key="a/b.csv", Range="bytes=-4")["Body"].read() == body[-4:]
described = s3.get_object_attributes(
    Bucket="boto", Key="a/b.csv", ObjectAttributes=["ETag", "ObjectSize", "StorageClass"]
)
assert described["ETag"].strip('"') == etag.strip('"'), described
assert described["ObjectSize"] == len(body), described
assert s3.get_object_tagging(Bucket="boto", Key="a/b.csv")["TagSet"] == []
listed = s3.list_objects_v2(Bucket="boto", Delimiter="/")
assert [p["Prefix"] for p in listed["CommonPrefixes"]] == ["a/"]
s3.copy_object(Bucket="boto", Key="copy", CopySource={"Bucket": "boto", "Key": "a/b.csv"})
assert s3.get_object(Bucket="boto", Key="copy")["Body"].read() == body

upload = s3.create_multipart_upload(Bucket="boto", Key="big")["UploadId"]
chunks = [os.urandom(5 << 20), os.urandom(100)]
parts = [
    {
        "PartNumber": n,
        "ETag": s3.upload_part(
            Bucket="boto", Key="big", UploadId=upload, PartNumber=n, Body=chunk
        )["ETag"],
    }
    for n, chunk in enumerate(chunks, 1)
]
s3.complete_multipart_upload(
    Bucket="boto", Key="big", UploadId=upload, MultipartUpload={"Parts": parts}
)
assert s3.get_object(Bucket="boto", Key="big")["Body"].read() == b"".join(chunks)


def select(expression, **options):
    answer = s3.select_object_content(
        Bucket="boto",
        Key=options.pop("key", "a/b.csv"),
        ExpressionType="SQL",
        Expression=expression,
        InputSerialization={"CSV": {"FileHeaderInfo": "USE"}},
        OutputSerialization={"CSV": {}},
        **options,
    )
    rows, stats, ended = b"", None, False
    for event in answer["Payload"]:
        rows += event.get("Records", {}).get("Payload", b"")
        stats = event.get("Stats", {}).get("Details", stats)
        ended |= "End" in event
    assert ended and stats["BytesScanned"] > 0
    return rows


assert select("SELECT v FROM S3Object WHERE k = '7'") == b"value-7\n"
assert select("SELECT COUNT(*), SUM(CAST(k AS INT)) FROM S3Object") == b"1000,499500\n"
in_parts = [
    int(select("SELECT COUNT(*) FROM S3Object", ScanRange={"Start": start, "End": start + 4999}))
    for start in range(0, len(body), 5000)
]
assert in_parts[0] > 0


def refused(code, call, **arguments):
    try:
        call(**arguments)
    except (botocore.exceptions.ClientError, botocore.exceptions.EventStreamError) as error:
        assert error.response["Error"]["Code"] == code, error
    else:
        raise AssertionError(f"no {code}")


refused("NoSuchKey", s3.get_object, Bucket="boto", Key="nothing")
refused("NoSuchBucket", s3.list_objects_v2, Bucket="nobody")
refused("ParseExpectedExpression", lambda: select("SELECT k FROM S3Object WHERE"))
refused("CastFailed", lambda: select("SELECT CAST(v AS INT) FROM S3Object"))
for missing, ask in {
    "NoSuchBucketPolicy": s3.get_bucket_policy,
    "NoSuchCORSConfiguration": s3.get_bucket_cors,
    "NoSuchLifecycleConfiguration": s3.get_bucket_lifecycle_configuration,
    "NoSuchTagSet": s3.get_bucket_tagging,
    "ServerSideEncryptionConfigurationNotFoundError": s3.get_bucket_encryption,
}.items():
    refused(missing, ask, Bucket="boto")
for acl in (s3.get_bucket_acl(Bucket="boto"), s3.get_object_acl(Bucket="boto", Key="copy")):
    assert [g["Permission"] for g in acl["Grants"]] == ["FULL_CONTROL"], acl
    assert acl["Grants"][0]["Grantee"]["ID"] == acl["Owner"]["ID"], acl

# The answer could not name such a key. It is deleted by itself.
s3.put_object(Bucket="boto", Key="a\x01b", Body=b"")
refused("MalformedXML", s3.delete_objects, Bucket="boto", Delete={"Objects": [{"Key": "a\x01b"}]})
assert "a\x01b" in [o["Key"] for o in s3.list_objects_v2(Bucket="boto")["Contents"]]
s3.delete_object(Bucket="boto", Key="a\x01b")

# With the bucket in front of the host it would be another request, so it is refused with what to do.
port = os.environ["ENDPOINT"].rsplit(":", 1)[1]
everywhere = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: everywhere("127.0.0.1", *rest, **more)
virtual = boto3.client(
    "s3",
    endpoint_url=f"http://localhost:{port}",
    config=botocore.config.Config(s3={"addressing_style": "virtual"}),
)
try:
    virtual.put_object(Bucket="boto", Key="marker-file", Body=b"")
except botocore.exceptions.ClientError as error:
    assert error.response["Error"]["Code"] == "InvalidRequest", error
    assert "addressing_style" in error.response["Error"]["Message"], error
else:
    raise AssertionError("a bucket in front of the host is left out")
socket.getaddrinfo = everywhere
assert [b["Name"] for b in s3.list_buckets()["Buckets"]] == ["boto"]

for path in ("/health", "/minio/health/live", "/minio/health/ready"):
    answer = urllib.request.urlopen(os.environ["ENDPOINT"] + path)
    assert (answer.status, answer.read()) == (200, b""), path

stranger = boto3.client(
    "s3",
    endpoint_url=os.environ["ENDPOINT"],
    aws_access_key_id=os.environ["AWS_ACCESS_KEY_ID"],
    aws_secret_access_key="wrong",
)
refused("SignatureDoesNotMatch", stranger.list_buckets)


def upload(url, **headers):
    """The status of an upload to a presigned URL with these headers."""
    headers = {"Content-Type": "", **{k.replace("_", "-"): v for k, v in headers.items()}}
    request = urllib.request.Request(url, data=b"new", headers=headers, method="PUT")
    try:
        return urllib.request.urlopen(request).status
    except urllib.error.HTTPError as error:
        return error.code


# A presigned URL allows what was signed, and no header besides. boto3 presigns with either version.
for version in ["s3v4", "s3"]:
    config = botocore.config.Config(signature_version=version)
    signer = boto3.client("s3", endpoint_url=os.environ["ENDPOINT"], config=config)
    put = {"Bucket": "boto", "Key": "presigned"}
    url = signer.generate_presigned_url("put_object", put)
    assert upload(url, x_amz_copy_source="/boto/a/b.csv") == 403, version
    assert upload(url, x_amz_meta_colour="red") == 403, version
    assert upload(url) == 200, version
    assert s3.get_object(Bucket="boto", Key="presigned")["Body"].read() == b"new"
    url = signer.generate_presigned_url("put_object", {**put, "Metadata": {"colour": "red"}})
    # A header that is signed and not there is malformed, or another signature.
    assert upload(url) in (400, 403, 501), version
    assert upload(url, x_amz_meta_colour="red") == 200, version
    assert s3.head_object(Bucket="boto", Key="presigned")["Metadata"] == {"colour": "red"}
    url = signer.generate_presigned_url("get_object", {"Bucket": "boto", "Key": "presigned"})
    assert urllib.request.urlopen(url).read() == b"new", version
    s3.delete_object(Bucket="boto", Key="presigned")

s3.delete_objects(Bucket="boto", Delete={"Objects": [{"Key": k} for k in ("a/b.csv", "copy", "big")]})
s3.delete_bucket(Bucket="boto")
