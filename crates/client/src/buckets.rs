//! Creation, removal and listing of buckets, for code that writes samples or workloads.

use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::types::{BucketLocationConstraint, CreateBucketConfiguration};

use super::Client;
use super::error::{Error, Subject};
use super::stall_timeout::StallTimer;
use super::wire::ListTap;

/// The region of a bucket that is created without a location.
const DEFAULT_REGION: &str = "us-east-1";

impl Client {
    /// Returns the names of the buckets of the account that signs the requests, one page at most.
    ///
    /// # Errors
    /// If the store cannot be reached or refuses to list them; [`Error::AccessDenied`] then names no bucket.
    pub async fn buckets(&self) -> Result<Vec<String>, Error> {
        let subject = bucket("");
        let listed = StallTimer::new(self.idle_timeout()).send(&subject, || {
            let request = self.sdk().list_buckets().customize();
            Box::pin(request.interceptor(ListTap).send())
        });
        let listed = listed.await?.map_err(|error| {
            let succeeded = error.raw_response().is_some_and(|it| it.status().is_success());
            match self.sort_request_error(error, &subject) {
                error @ Error::Transient { .. } if !succeeded => error,
                // Every S3 store answers this request, even if it refuses the list.
                Error::NotFound { .. } | Error::NoSuchBucket { .. } | Error::Transient { .. } => {
                    self.no_store("it has no list of buckets".to_owned())
                }
                error => error,
            }
        })?;
        if listed.buckets.is_none() && listed.owner.is_none() {
            return Err(self.no_store("it has no list of buckets".to_owned()));
        }
        let names = listed.buckets().iter().filter_map(|bucket| bucket.name());
        Ok(names.map(str::to_owned).collect())
    }

    /// Creates the bucket unless it exists. Returns whether it was created.
    ///
    /// Some stores do not reveal whether a bucket exists, for example to a client that may only write objects. The
    /// bucket is then assumed to exist; if it does not, a later write fails.
    ///
    /// # Errors
    /// If the store cannot be reached or refuses to create the bucket.
    pub async fn ensure_bucket(&self, name: &str) -> Result<bool, Error> {
        let patience = || StallTimer::new(self.idle_timeout());
        let subject = bucket(name);
        let asked = patience()
            .send(&subject, || Box::pin(self.sdk().head_bucket().bucket(name).send()))
            .await?;
        match asked {
            Ok(_) => return Ok(false),
            Err(error) => match error.as_service_error() {
                Some(said) if said.is_not_found() => {}
                // A client without the right to look up the bucket may still be allowed to use it.
                Some(_) => return Ok(false),
                None => return Err(self.sort_request_error(error, &subject)),
            },
        }
        let mut request = self.sdk().create_bucket().bucket(name);
        if self.region() != DEFAULT_REGION {
            let place = CreateBucketConfiguration::builder()
                .location_constraint(BucketLocationConstraint::from(self.region()))
                .build();
            request = request.create_bucket_configuration(place);
        }
        let made = patience().send(&subject, || Box::pin(request.clone().send()));
        match made.await? {
            Ok(_) => Ok(true),
            // Another client created it in the meantime.
            Err(error) if error.code() == Some("BucketAlreadyOwnedByYou") => Ok(false),
            Err(error) => Err(self.sort_request_error(error, &subject)),
        }
    }

    /// Removes an empty bucket.
    ///
    /// # Errors
    /// If the store cannot be reached or refuses to remove the bucket.
    pub async fn remove_bucket(&self, name: &str) -> Result<(), Error> {
        let subject = bucket(name);
        let removed = StallTimer::new(self.idle_timeout())
            .send(&subject, || Box::pin(self.sdk().delete_bucket().bucket(name).send()));
        removed.await?.map(|_| ()).map_err(|error| self.sort_request_error(error, &subject))
    }
}

fn bucket(name: &str) -> Subject {
    Subject { bucket: name.to_owned(), key: String::new() }
}
