//! The memory of a store's refusals, so that refused statements are not sent again.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use super::error::Error;
use sluicegate_s3select::capabilities::{DataFormat, constructs};
use sluicegate_s3select::dialect;
use sluicegate_s3select::request::{Compression, OutputSerialization, SelectRequest};

/// The maximum number of refusals kept; a planner makes fewer kinds of statements.
const MOST: usize = 64;

/// A refusal of a store. Requests in its scope are no longer sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRefusal {
    /// The requests that the refusal covers.
    pub scope: RefusalScope,
    /// The store's error code.
    pub code: String,
    /// The message of the store.
    pub message: String,
}

/// The set of requests that a refusal covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusalScope {
    /// The store runs no statement of this client at all.
    Everything,
    /// The store refuses requests of this kind, and those that use more features.
    Kind(RequestKind),
}

/// The features of a request. A store treats requests with the same features alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKind {
    /// The format of the objects.
    pub format: DataFormat,
    /// The compression of the objects.
    pub compression: Compression,
    /// True if the request has a ScanRange.
    pub scan_range: bool,
    /// True if the answer is JSON.
    pub json_output: bool,
    /// The constructs of the statement.
    pub constructs: BTreeSet<&'static str>,
}

impl RequestKind {
    /// Returns the kind of a request; `None` if its statement cannot be parsed.
    fn from_request(request: &SelectRequest) -> Option<Self> {
        Some(Self {
            format: DataFormat::from(&request.input),
            compression: request.input.compression,
            scan_range: request.scan_range.is_some(),
            json_output: matches!(request.output, OutputSerialization::Json { .. }),
            constructs: constructs(&dialect::parse_with(&request.expression, request.extras).ok()?),
        })
    }

    /// Returns true if the other kind uses the same features, and possibly more.
    fn is_part_of(&self, other: &Self) -> bool {
        self.format == other.format
            && self.compression == other.compression
            && self.scan_range <= other.scan_range
            && self.json_output == other.json_output
            && self.constructs.is_subset(&other.constructs)
    }
}

impl RefusalScope {
    /// Returns the requests that an error covers; `None` if it is temporary, or about the object.
    fn from_error(error: &Error, request: &SelectRequest) -> Option<Self> {
        // The service's codes for unsupported language features, then those of MinIO and Ceph.
        const LANGUAGE: [&str; 13] = [
            "UnsupportedSyntax",
            "UnsupportedFunction",
            "UnsupportedSqlOperation",
            "UnsupportedSqlStructure",
            "UnsupportedScanRangeInput",
            "InvalidCompressionType",
            "InvalidArgument",
            "InvalidRequest",
            "MalformedXML",
            "InvalidQuery",
            "BadTableName",
            "DataSourcePathUnsupported",
            "s3select-Syntax-Error",
        ];
        if error.is_final_refusal() {
            return Some(Self::Everything);
        }
        let Error::Refused { code, .. } = error else { return None };
        let is_about_language = code.starts_with("Parse")
            || code.starts_with("Lexer")
            || LANGUAGE.contains(&code.as_str());
        is_about_language.then(|| RequestKind::from_request(request).map(Self::Kind))?
    }
}

impl fmt::Display for KnownRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            RefusalScope::Everything => f.write_str("all statements")?,
            RefusalScope::Kind(kind) => {
                write!(f, "statements about {:?} objects", kind.format)?;
                if kind.compression != Compression::None {
                    write!(f, " compressed with {:?}", kind.compression)?;
                }
                if kind.scan_range {
                    f.write_str(", with a ScanRange")?;
                }
                let constructs: Vec<&str> = kind.constructs.iter().copied().collect();
                if !constructs.is_empty() {
                    write!(f, ", with {}", constructs.join(" and "))?;
                }
            }
        }
        write!(f, " ({}: {})", self.code, self.message)
    }
}

/// The refusals of one store, kept for the lifetime of its client.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    known: Mutex<Vec<KnownRefusal>>,
}

impl Refusals {
    /// Remembers an error of the store if it covers other requests.
    pub(super) fn record(&self, error: &Error, request: &SelectRequest) {
        let Error::Refused { code, message } = error else { return };
        let Some(scope) = RefusalScope::from_error(error, request) else { return };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MOST && !known.iter().any(|refusal| refusal.scope == scope) {
            tracing::info!(
                ?scope,
                code,
                "the store refuses; similar statements are not sent again"
            );
            known.push(KnownRefusal { scope, code: code.clone(), message: message.clone() });
        }
    }

    /// Returns the earlier refusal that covers a request.
    pub(super) fn find(&self, request: &SelectRequest) -> Option<KnownRefusal> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_empty() {
            return None;
        }
        let everything = known.iter().find(|it| it.scope == RefusalScope::Everything);
        if everything.is_some() {
            return everything.cloned();
        }
        let wanted = RequestKind::from_request(request)?;
        let refuses = |it: &&KnownRefusal| matches!(&it.scope, RefusalScope::Kind(kind) if kind.is_part_of(&wanted));
        known.iter().find(refuses).cloned()
    }

    pub(super) fn all(&self) -> Vec<KnownRefusal> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl From<KnownRefusal> for Error {
    fn from(refusal: KnownRefusal) -> Self {
        let KnownRefusal { code, message, .. } = refusal;
        Self::Refused { code, message: format!("{message} (refused before, not sent again)") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_s3select::dialect::Extras;
    use sluicegate_s3select::request::{
        CsvInput, CsvOutput, InputFormat, InputSerialization, ScanRange,
    };

    fn request(sql: &str) -> SelectRequest {
        SelectRequest {
            expression: sql.to_owned(),
            input: InputSerialization {
                format: InputFormat::Csv(CsvInput::default()),
                compression: Compression::None,
            },
            output: OutputSerialization::Csv(CsvOutput::default()),
            scan_range: None,
            progress: false,
            extras: Extras::NONE,
        }
    }

    fn refused(code: &str) -> Error {
        Error::Refused { code: code.to_owned(), message: "no".to_owned() }
    }

    const PLAIN: &str = "SELECT s._1 FROM S3Object s";
    const CASE: &str = "SELECT s._1 FROM S3Object s WHERE CASE WHEN TRUE THEN 1 END = 1";
    const MORE: &str =
        "SELECT s._2 FROM S3Object s WHERE CASE WHEN FALSE THEN 1 END = 2 AND s._1 LIKE 'a'";

    #[test]
    fn a_construct_refused_is_not_sent_again_and_others_are() {
        let refusals = Refusals::default();
        refusals.record(&refused("ParseSelectFailure"), &request(CASE));
        assert!(refusals.find(&request(PLAIN)).is_none());
        assert!(refusals.find(&request(CASE)).is_some());
        assert!(refusals.find(&request(MORE)).is_some());
        let ranged =
            SelectRequest { scan_range: Some(ScanRange::From { start: 5 }), ..request(CASE) };
        assert!(refusals.find(&ranged).is_some());
        let other = InputFormat::Parquet;
        let parquet = SelectRequest {
            input: InputSerialization { format: other, compression: Compression::None },
            ..request(CASE)
        };
        assert!(refusals.find(&parquet).is_none());
        let said = refusals.all()[0].to_string();
        assert!(said.starts_with("statements about Csv objects, with = and CASE"), "{said}");
    }

    #[test]
    fn a_store_without_select_is_asked_once() {
        let refusals = Refusals::default();
        refusals.record(&refused("NotImplemented"), &request(CASE));
        refusals.record(&refused("NotImplemented"), &request(PLAIN));
        assert!(refusals.find(&request(PLAIN)).is_some());
        assert_eq!(refusals.all().len(), 1);
    }

    #[test]
    fn errors_of_one_object_or_moment_say_nothing_about_others() {
        let refusals = Refusals::default();
        for code in ["CastFailed", "InternalError", "TruncatedInput", "IntegerOverflow", "Busy"] {
            refusals.record(&refused(code), &request(PLAIN));
        }
        assert!(refusals.all().is_empty());
        assert!(refusals.find(&request(PLAIN)).is_none());
    }
}
