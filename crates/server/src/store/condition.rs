//! Conditional requests (RFC 9110 §13), with S3's interpretation.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, header};
use s3s::dto::{ETag, ETagCondition, Timestamp};
use s3s::{S3Error, S3Result, s3_error};

/// Conditions on reading an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions {
    pub(crate) if_match: Option<ETagCondition>,
    pub(crate) if_none_match: Option<ETagCondition>,
    pub(crate) if_modified_since: Option<Timestamp>,
    pub(crate) if_unmodified_since: Option<Timestamp>,
}

impl Conditions {
    /// Checks the conditions for the version with this ETag and time. The error is 304 or 412.
    pub(crate) fn check(&self, etag: &str, modified: SystemTime) -> S3Result<()> {
        // HTTP dates have whole seconds.
        let modified = Timestamp::from(whole_seconds(modified));
        let failed = || s3_error!(PreconditionFailed, "the object does not meet the precondition");
        match (&self.if_match, &self.if_unmodified_since) {
            (Some(condition), _) if !matches(condition, etag) => return Err(failed()),
            (None, Some(limit)) if modified > *limit => return Err(failed()),
            _ => {}
        }
        match (&self.if_none_match, &self.if_modified_since) {
            (Some(condition), _) if matches(condition, etag) => Err(not_modified(etag)),
            (None, Some(limit)) if modified <= *limit => Err(not_modified(etag)),
            _ => Ok(()),
        }
    }

    /// Like [`Self::check`], but for the source of a copy, where the error is always 412.
    pub(crate) fn check_source(&self, etag: &str, modified: SystemTime) -> S3Result<()> {
        self.check(etag, modified).map_err(|_| {
            s3_error!(PreconditionFailed, "the source of the copy does not meet the precondition")
        })
    }
}

/// Conditions on replacing or removing an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteConditions {
    pub(crate) if_match: Option<ETagCondition>,
    pub(crate) if_none_match: Option<ETagCondition>,
}

impl WriteConditions {
    pub(crate) fn are_absent(&self) -> bool {
        self.if_match.is_none() && self.if_none_match.is_none()
    }

    /// Checks that the version with this ETag may be replaced, or that there may be none.
    pub(crate) fn check(&self, etag: Option<&str>) -> S3Result<()> {
        match (&self.if_match, etag) {
            (Some(_), None) => {
                return Err(s3_error!(NoSuchKey, "there is no such object to match"));
            }
            (Some(condition), Some(etag)) if !matches(condition, etag) => {
                return Err(s3_error!(PreconditionFailed, "the object has another ETag"));
            }
            _ => {}
        }
        match (&self.if_none_match, etag) {
            (Some(condition), Some(etag)) if matches(condition, etag) => {
                Err(s3_error!(PreconditionFailed, "the object exists"))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the error 304 with the version that the client has (RFC 9110 §15.4.5).
fn not_modified(etag: &str) -> S3Error {
    let mut error = s3_error!(NotModified);
    if let Ok(etag) = format!("\"{etag}\"").parse() {
        error.set_headers(HeaderMap::from_iter([(header::ETAG, etag)]));
    }
    error
}

fn matches(condition: &ETagCondition, etag: &str) -> bool {
    match condition {
        ETagCondition::Any => true,
        ETagCondition::ETag(ETag::Strong(value) | ETag::Weak(value)) => value == etag,
    }
}

fn whole_seconds(time: SystemTime) -> SystemTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_EPOCH + Duration::from_secs(since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(value: &str) -> Option<ETagCondition> {
        Some(ETagCondition::ETag(ETag::Strong(value.to_owned())))
    }

    fn at(seconds: u64) -> Option<Timestamp> {
        Some(Timestamp::from(UNIX_EPOCH + Duration::from_secs(seconds)))
    }

    #[track_caller]
    fn check(conditions: Conditions, expected: &str) {
        let modified = UNIX_EPOCH + Duration::from_millis(1_000_500);
        let found = match conditions.check("e", modified) {
            Ok(()) => "200".to_owned(),
            Err(e) => e.status_code().unwrap().as_str().to_owned(),
        };
        assert_eq!(found, expected, "{conditions:?}");
    }

    #[test]
    fn reading() {
        let none = Conditions::default;
        check(none(), "200");
        check(Conditions { if_match: tag("e"), ..none() }, "200");
        check(Conditions { if_match: Some(ETagCondition::Any), ..none() }, "200");
        check(Conditions { if_match: tag("x"), ..none() }, "412");
        check(Conditions { if_none_match: tag("e"), ..none() }, "304");
        check(Conditions { if_none_match: tag("x"), ..none() }, "200");
        check(Conditions { if_modified_since: at(1000), ..none() }, "304");
        check(Conditions { if_modified_since: at(999), ..none() }, "200");
        check(Conditions { if_unmodified_since: at(1000), ..none() }, "200");
        check(Conditions { if_unmodified_since: at(999), ..none() }, "412");
        // If both are given, the ETag decides.
        check(Conditions { if_match: tag("e"), if_unmodified_since: at(999), ..none() }, "200");
        check(Conditions { if_none_match: tag("x"), if_modified_since: at(1000), ..none() }, "200");
    }

    #[test]
    fn writing() {
        let absent =
            WriteConditions { if_none_match: Some(ETagCondition::Any), ..Default::default() };
        assert!(absent.check(None).is_ok());
        assert_eq!(absent.check(Some("e")).unwrap_err().code().as_str(), "PreconditionFailed");
        let same = WriteConditions { if_match: tag("e"), ..Default::default() };
        assert!(same.check(Some("e")).is_ok());
        assert_eq!(same.check(Some("x")).unwrap_err().code().as_str(), "PreconditionFailed");
        assert_eq!(same.check(None).unwrap_err().code().as_str(), "NoSuchKey");
    }
}
