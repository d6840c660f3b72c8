use aws_sdk_s3::types::ObjectAttributes as Attributes;

use super::*;

#[tokio::test]
async fn attributes_are_those_that_are_asked_for() {
    let fixture = Fixture::new().await;
    let tag = fixture.put("a", *b"abc").await;
    let ask = |key: &str| fixture.client.get_object_attributes().bucket("bucket").key(key);
    let all = ask("a")
        .object_attributes(Attributes::Etag)
        .object_attributes(Attributes::ObjectSize)
        .object_attributes(Attributes::Checksum)
        .object_attributes(Attributes::StorageClass);
    let all = all.send().await.unwrap();
    assert_eq!(all.e_tag().map(|it| it.trim_matches('"')), Some(tag.trim_matches('"')));
    assert_eq!((all.object_size(), all.storage_class().is_some()), (Some(3), true));
    assert!(all.checksum().is_some_and(|it| it.checksum_crc32().is_some()), "{all:?}");
    let size = ask("a").object_attributes(Attributes::ObjectSize).send().await.unwrap();
    assert_eq!((size.object_size(), size.e_tag(), size.checksum()), (Some(3), None, None));
    for together in ["ETag,ObjectSize", "ETag, ObjectSize"] {
        let both = ask("a").object_attributes(Attributes::from(together)).send().await.unwrap();
        assert_eq!((both.object_size(), both.e_tag().is_some()), (Some(3), true), "{together}");
    }
    let unknown = ask("a").object_attributes(Attributes::from("ETag,Colour")).send().await;
    assert_eq!(unknown.unwrap_err().code(), Some("InvalidArgument"));
    let none = ask("none").object_attributes(Attributes::ObjectSize).send().await.unwrap_err();
    assert_eq!(none.code(), Some("NoSuchKey"));
}

#[tokio::test]
async fn buckets_have_no_configuration() {
    let fixture = Fixture::new().await;
    fixture.put("a", *b"abc").await;
    let Fixture { client, .. } = &fixture;
    macro_rules! refused {
        ($($operation:ident: $code:literal),*) => {
            $(
                for (bucket, code_of_it) in [("bucket", $code), ("none", "404 NoSuchBucket")] {
                    let error = client.$operation().bucket(bucket).send().await.unwrap_err();
                    assert_eq!(code(&error), code_of_it, "{}", stringify!($operation));
                }
            )*
        };
    }
    refused!(
        get_bucket_cors: "404 NoSuchCORSConfiguration",
        get_bucket_encryption: "404 ServerSideEncryptionConfigurationNotFoundError",
        get_bucket_lifecycle_configuration: "404 NoSuchLifecycleConfiguration",
        get_bucket_policy: "404 NoSuchBucketPolicy",
        get_bucket_tagging: "404 NoSuchTagSet",
        get_bucket_ownership_controls: "404 OwnershipControlsNotFoundError",
        get_bucket_policy_status: "404 NoSuchBucketPolicy",
        get_bucket_replication: "404 ReplicationConfigurationNotFoundError",
        get_bucket_website: "404 NoSuchWebsiteConfiguration",
        get_object_lock_configuration: "404 ObjectLockConfigurationNotFoundError",
        get_public_access_block: "404 NoSuchPublicAccessBlockConfiguration"
    );
    let logging = client.get_bucket_logging().bucket("bucket").send().await.unwrap();
    assert!(logging.logging_enabled().is_none());
    let told =
        client.get_bucket_notification_configuration().bucket("bucket").send().await.unwrap();
    assert!(told.topic_configurations().is_empty() && told.queue_configurations().is_empty());
    let fast = client.get_bucket_accelerate_configuration().bucket("bucket").send().await.unwrap();
    assert!(fast.status().is_none());
    let payment = client.get_bucket_request_payment().bucket("bucket").send().await.unwrap();
    assert_eq!(payment.payer().unwrap().as_str(), "BucketOwner");
    let bucket = client.get_bucket_acl().bucket("bucket").send().await.unwrap();
    let object = client.get_object_acl().bucket("bucket").key("a").send().await.unwrap();
    for (owner, grants) in [(bucket.owner(), bucket.grants()), (object.owner(), object.grants())] {
        let [grant] = grants else { panic!("{grants:?}") };
        assert_eq!(grant.permission().unwrap().as_str(), "FULL_CONTROL");
        let grantee = grant.grantee().unwrap();
        assert_eq!(grantee.r#type().as_str(), "CanonicalUser");
        assert_eq!(grantee.id(), owner.unwrap().id());
    }
    let none = client.get_object_acl().bucket("bucket").key("none").send().await.unwrap_err();
    assert_eq!(code(&none), "404 NoSuchKey");
    // Configurations cannot be changed either.
    let put = client.delete_bucket_policy().bucket("bucket").send().await.unwrap_err();
    assert_eq!(code(&put), "501 NotImplemented");
}

#[tokio::test]
async fn nothing_has_tags() {
    let fixture = Fixture::new().await;
    fixture.put("a", *b"abc").await;
    let tags = |key: &str| fixture.client.get_object_tagging().bucket("bucket").key(key).send();
    assert!(tags("a").await.unwrap().tag_set().is_empty());
    assert_eq!(tags("none").await.unwrap_err().code(), Some("NoSuchKey"));
    let bucket = fixture.client.get_bucket_tagging().bucket("bucket").send().await;
    assert_eq!(bucket.unwrap_err().code(), Some("NoSuchTagSet"));
}
