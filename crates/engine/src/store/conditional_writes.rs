//! Adds the condition to requests that complete an object only if there is none.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use http::{HeaderValue, Method, header};
use object_store::client::HttpRequest;
use object_store::{PutMode, PutOptions};

use crate::context::read_layer::ReadLayer;
use crate::store::staging::create_only::OnlyNew;

/// Removes the condition before the object store, which would not retry a conditional request after a lost answer.
/// [`Completions`] adds it to the requests.
#[derive(Debug)]
pub(crate) struct Unconditional;

impl ReadLayer for Unconditional {
    fn writes(&self, mut options: PutOptions) -> PutOptions {
        if options.extensions.get::<OnlyNew>().is_some() {
            options.mode = PutMode::Overwrite;
        }
        options
    }
}

/// The multipart uploads of a bucket that must create new objects, by their paths.
#[derive(Debug, Default)]
pub(crate) struct Completions(Mutex<HashMap<String, OnlyNew>>);

impl Completions {
    /// Adds the condition to a request that would complete a new object, and returns that object.
    pub(crate) fn condition(&self, request: &mut HttpRequest) -> Option<OnlyNew> {
        let query = request.uri().query().unwrap_or_default();
        let has = |name: &str| {
            query.split('&').any(|it| it.split_once('=').map_or(it, |(name, _)| name) == name)
        };
        let (of_upload, begins) = (has("uploadId"), has("uploads"));
        let path = request.uri().path().to_owned();
        let asked = request.extensions().get::<OnlyNew>().cloned();
        let mut uploads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let only_new = match *request.method() {
            Method::PUT if !of_upload => asked,
            Method::POST if begins => {
                match asked {
                    Some(asked) => uploads.insert(path, asked),
                    None => uploads.remove(&path),
                };
                None
            }
            Method::POST if of_upload => uploads.get(&path).cloned(),
            Method::DELETE if of_upload => {
                uploads.remove(&path);
                None
            }
            _ => None,
        }?;
        only_new.sends();
        request.headers_mut().insert(header::IF_NONE_MATCH, HeaderValue::from_static("*"));
        Some(only_new)
    }
}

#[cfg(test)]
mod tests {
    use object_store::client::HttpRequestBody;
    use object_store::path::Path;

    use super::*;

    fn request(method: Method, uri: &str, only_new: bool) -> HttpRequest {
        let mut request = http::Request::builder().method(method).uri(uri);
        if only_new {
            request = request.extension(OnlyNew::at("s3://b/", &Path::from("k")));
        }
        request.body(HttpRequestBody::empty()).unwrap()
    }

    #[test]
    fn requests_that_complete_a_new_object_have_the_condition() {
        let completions = Completions::default();
        let check = |method: Method, uri: &str, only_new: bool, expected: bool| {
            let mut request = request(method, uri, only_new);
            assert_eq!(completions.condition(&mut request).is_some(), expected, "{uri}");
            let value = request.headers().get(header::IF_NONE_MATCH);
            assert_eq!(value.is_some_and(|value| value == "*"), expected, "{uri}");
        };
        check(Method::PUT, "http://h/b/k", true, true);
        check(Method::PUT, "http://h/b/k", false, false);
        check(Method::POST, "http://h/b/k?uploads=", true, false);
        check(Method::PUT, "http://h/b/k?partNumber=1&uploadId=u", false, false);
        check(Method::POST, "http://h/b/other?uploadId=u", false, false);
        check(Method::POST, "http://h/b/k?uploadId=u", false, true);
        check(Method::POST, "http://h/b/k?uploadId=u", false, true);
        // The next upload may replace the object.
        check(Method::POST, "http://h/b/k?uploads=", false, false);
        check(Method::POST, "http://h/b/k?uploadId=v", false, false);
        check(Method::POST, "http://h/b/k?uploads=", true, false);
        check(Method::DELETE, "http://h/b/k?uploadId=u", false, false);
        check(Method::POST, "http://h/b/k?uploadId=u", false, false);
    }
}
