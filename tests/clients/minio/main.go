// minio-go against `sluice serve`: every way in which it uploads, with and without checksums behind the body.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func check(held bool, format string, args ...any) {
	if !held {
		panic(fmt.Sprintf(format, args...))
	}
}

func client(endpoint string, trailing bool, lookup minio.BucketLookupType) *minio.Client {
	// A bucket in front of the host leads to this machine, too.
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		must(err)
		return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	}
	made, err := minio.New(endpoint, &minio.Options{
		Creds:           credentials.NewStaticV4(os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), ""),
		Transport:       transport,
		TrailingHeaders: trailing,
		BucketLookup:    lookup,
		MaxRetries:      1,
	})
	must(err)
	return made
}

// A reader that cannot seek, and of unknown length.
type stream struct{ io.Reader }

func main() {
	ctx := context.Background()
	at, err := url.Parse(os.Getenv("ENDPOINT"))
	must(err)
	const bucket = "minio-go"
	must(client(at.Host, false, minio.BucketLookupAuto).MakeBucket(ctx, bucket, minio.MakeBucketOptions{}))

	data := make([]byte, 11<<20+17)
	_, err = rand.Read(data)
	must(err)
	checksums := []minio.ChecksumType{
		minio.ChecksumNone, minio.ChecksumCRC32, minio.ChecksumCRC32C, minio.ChecksumSHA1, minio.ChecksumSHA256,
		minio.ChecksumCRC64NVME, minio.ChecksumFullObjectCRC32, minio.ChecksumFullObjectCRC32C,
	}
	count := 0
	for _, trailing := range []bool{false, true} {
		c := client(at.Host, trailing, minio.BucketLookupAuto)
		for _, checksum := range checksums {
			for _, size := range []int{0, 1000, len(data)} {
				for _, how := range []string{"bytes", "stream", "concurrent", "unsigned", "md5"} {
					for _, forced := range []bool{false, true} {
						if forced && (!trailing || how == "md5") {
							continue
						}
						options := minio.PutObjectOptions{PartSize: 5 << 20, UserMetadata: map[string]string{"a": "b"}}
						if forced {
							options.Checksum = checksum
						} else {
							options.AutoChecksum = checksum
						}
						length, body := int64(size), io.Reader(bytes.NewReader(data[:size]))
						switch how {
						case "stream":
							length, body = -1, stream{body}
						case "concurrent":
							length, body = -1, stream{body}
							options.ConcurrentStreamParts, options.NumThreads = true, 3
						case "unsigned":
							options.DisableContentSha256 = true
						case "md5":
							options.SendContentMd5 = true
						}
						what := fmt.Sprintf("trailing %v, %v (forced %v), %d bytes, %s", trailing, checksum, forced, size, how)
						if _, err := c.PutObject(ctx, bucket, "k", body, length, options); err != nil {
							panic(fmt.Sprintf("%s: %v", what, err))
						}
						got, err := c.GetObject(ctx, bucket, "k", minio.GetObjectOptions{Checksum: true})
						must(err)
						read, err := io.ReadAll(got)
						check(err == nil && bytes.Equal(read, data[:size]), "%s: %d bytes come back: %v", what, len(read), err)
						count++
					}
				}
			}
		}
	}

	c := client(at.Host, true, minio.BucketLookupPath)
	csv := []byte("name,price\napple,3\npear,4\n")
	_, err = c.PutObject(ctx, bucket, "fruit.csv", bytes.NewReader(csv), int64(len(csv)), minio.PutObjectOptions{})
	must(err)
	found, err := c.SelectObjectContent(ctx, bucket, "fruit.csv", minio.SelectObjectOptions{
		Expression:     "SELECT s.name FROM S3Object s WHERE CAST(s.price AS INT) > 3",
		ExpressionType: minio.QueryExpressionTypeSQL,
		InputSerialization: minio.SelectObjectInputSerialization{
			CSV: &minio.CSVInputOptions{FileHeaderInfo: minio.CSVFileHeaderInfoUse},
		},
		OutputSerialization: minio.SelectObjectOutputSerialization{CSV: &minio.CSVOutputOptions{}},
	})
	must(err)
	rows, err := io.ReadAll(found)
	check(err == nil && string(rows) == "pear\n", "Select answers %q: %v", rows, err)

	_, err = c.CopyObject(ctx, minio.CopyDestOptions{Bucket: bucket, Object: "copy"}, minio.CopySrcOptions{Bucket: bucket, Object: "k"})
	must(err)
	_, err = c.ComposeObject(ctx, minio.CopyDestOptions{Bucket: bucket, Object: "composed"},
		minio.CopySrcOptions{Bucket: bucket, Object: "k"}, minio.CopySrcOptions{Bucket: bucket, Object: "fruit.csv"})
	must(err)
	described, err := c.StatObject(ctx, bucket, "composed", minio.StatObjectOptions{})
	check(err == nil && described.Size == int64(len(data)+len(csv)), "%v: %v", described.Size, err)

	for name, ask := range map[string]func() error{
		"NoSuchBucketPolicy":                             func() error { return second(c.GetBucketPolicy(ctx, bucket)) },
		"NoSuchLifecycleConfiguration":                   func() error { return second(c.GetBucketLifecycle(ctx, bucket)) },
		"ServerSideEncryptionConfigurationNotFoundError": func() error { return second(c.GetBucketEncryption(ctx, bucket)) },
		"NoSuchTagSet":                                   func() error { return second(c.GetBucketTagging(ctx, bucket)) },
	} {
		err := ask()
		// For a policy the client says that there is none.
		none := name == "NoSuchBucketPolicy" && err == nil
		check(none || minio.ToErrorResponse(err).Code == name, "no %s, but %v", name, err)
	}

	// A bucket in front of the host: refused, with what to do.
	virtual := client("localhost:"+at.Port(), false, minio.BucketLookupDNS)
	_, err = virtual.PutObject(ctx, bucket, "marker", bytes.NewReader(csv), int64(len(csv)), minio.PutObjectOptions{})
	check(err != nil && strings.Contains(err.Error(), "path style"), "a bucket in front of the host: %v", err)
	err = virtual.RemoveObject(ctx, bucket, "k", minio.RemoveObjectOptions{})
	check(err != nil, "a bucket in front of the host: no error")
	buckets, err := c.ListBuckets(ctx)
	must(err)
	for _, found := range buckets {
		check(found.Name != "marker", "a bucket of the object's name")
	}

	keys := make(chan minio.ObjectInfo)
	go func() {
		defer close(keys)
		for object := range c.ListObjects(ctx, bucket, minio.ListObjectsOptions{Recursive: true}) {
			keys <- object
		}
	}()
	for failed := range c.RemoveObjects(ctx, bucket, keys, minio.RemoveObjectsOptions{}) {
		panic(failed.Err)
	}
	must(c.RemoveBucket(ctx, bucket))
	fmt.Printf("minio-go: %d uploads in all its ways\n", count)
}

func second[T any](_ T, err error) error { return err }
