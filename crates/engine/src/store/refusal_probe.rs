//! Finds the reason why a HEAD was refused, because its answer has no body.

use async_trait::async_trait;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, GetResult, ObjectStore, Result};

use crate::context::read_layer::ReadLayer;

/// After a refused HEAD, requests one byte of the object, so that the error has the store's code. A wrong key, a
/// wrong secret, an expired token and a missing permission all have the same status.
#[derive(Debug)]
pub(crate) struct RefusalProbe;

#[async_trait]
impl ReadLayer for RefusalProbe {
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        options: GetOptions,
    ) -> Result<GetResult> {
        let is_head = options.head;
        let error = match inner.get_opts(location, options).await {
            Err(error) if is_head && is_refused(&error) => error,
            answer => return answer,
        };
        let one_byte = GetOptions { range: Some(GetRange::Bounded(0..1)), ..GetOptions::default() };
        match inner.get_opts(location, one_byte).await {
            Err(why) if is_refused(&why) => Err(why),
            // The object may be read although HEAD is refused.
            _ => Err(error),
        }
    }
}

/// Returns whether the status suggests that a request was refused for its credentials.
fn is_refused(error: &Error) -> bool {
    match error {
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => true,
        Error::Generic { source, .. } => source.to_string().contains("400 Bad Request"),
        _ => false,
    }
}
