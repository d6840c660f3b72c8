//! Converts locations that users write to URLs for DataFusion.

use std::borrow::Cow;
use std::env;
use std::fs;
use std::path::PathBuf;

use datafusion::common::{DataFusionError, Result};
use url::Url;

use crate::context::bucket_names::check_bucket;
use crate::{ErrorKind, UserError};

/// Returns the URL of a location. DataFusion decodes percent-encoding in URLs, drops what follows `?` or `#`, and
/// trims spaces. Keys in buckets are literal here, so these characters are escaped.
///
/// # Errors
///
/// If URL normalization would change the key, or if the URL may contain a secret.
pub(crate) fn as_url(location: &str) -> Result<Cow<'_, str>> {
    const ESCAPES: [(char, &str); 4] = [('%', "%25"), ('?', "%3F"), ('#', "%23"), (' ', "%20")];
    check(location)?;
    let escapes = match location.split_once("://") {
        Some(("s3", _)) => ESCAPES.as_slice(),
        // The path of a file's URL is already percent-encoded, except for its spaces.
        Some(("file", _)) => &ESCAPES[3..],
        _ => &[],
    };
    if !location.contains(|typed| escapes.iter().any(|(c, _)| *c == typed)) {
        return Ok(Cow::Borrowed(location));
    }
    let escaped =
        escapes.iter().fold(location.to_owned(), |url, (c, escape)| url.replace(*c, escape));
    Ok(Cow::Owned(escaped))
}

/// Expands a leading `~/` to the user's home folder, which a shell does not do within quotes.
///
/// # Errors
///
/// If the environment has no home folder.
pub(crate) fn at_home(location: &str) -> Result<Cow<'_, str>> {
    let Some(rest) = location.strip_prefix("~/") else { return Ok(Cow::Borrowed(location)) };
    match env::var("HOME") {
        Ok(home) if !home.is_empty() => {
            Ok(Cow::Owned(format!("{}/{rest}", home.trim_end_matches('/'))))
        }
        _ => Err(refused(
            format!(
                "`{location}` is in your home folder, which the environment variable HOME does not name"
            ),
            "Write the whole path.",
        )),
    }
}

/// Refuses to read a local path that is neither a file nor a folder, because opening a pipe or reading a device may
/// never end.
///
/// # Errors
///
/// If the path exists, and is such a pipe, socket or device.
pub(crate) fn check_readable(location: &str) -> Result<()> {
    let path = match location.split_once("://") {
        None => PathBuf::from(location),
        Some(("file", _)) => match Url::parse(location).map(|url| url.to_file_path()) {
            Ok(Ok(path)) => path,
            _ => return Ok(()),
        },
        Some(_) => return Ok(()),
    };
    match fs::metadata(&path) {
        Ok(there) if !there.is_file() && !there.is_dir() => Err(refused(
            format!("`{}` is a pipe, a socket or a device", path.display()),
            "Save its text in a file, and name that.",
        )),
        // The reader reports a missing path.
        _ => Ok(()),
    }
}

/// Refuses to write to a local device or pipe, because complete files are moved to their final names. Also refuses
/// patterns.
///
/// # Errors
///
/// If the location is a device, a pipe or a pattern.
pub(crate) fn check_writable(location: &str) -> Result<()> {
    let path = location.strip_prefix("file://").unwrap_or(location);
    let there = fs::metadata(path);
    let is_other = there.is_ok_and(|there| !there.is_file() && !there.is_dir());
    if let Some(rest) = ["s3//", "s3:/"].iter().find_map(|typed| path.strip_prefix(typed))
        && !path.starts_with("s3://")
    {
        return Err(refused(
            format!("`{path}` is a local path, although it begins as the name of an object"),
            &format!(
                "Write s3://{}; or ./{path} for the local path.",
                rest.trim_start_matches('/')
            ),
        ));
    }
    // DataFusion would take the name for a pattern, and write or replace the files that match.
    if !path.contains("://") && path.contains(['*', '?', '[']) {
        return Err(refused(
            format!("`{path}` is a pattern, and COPY writes one name"),
            "Write a name without *, ? and [.",
        ));
    }
    match path.starts_with("/dev/") || is_other {
        true => Err(refused(
            format!("`{path}` is no file: COPY writes files and objects as a whole"),
            "An answer is printed by itself: sluice sql --format csv \"SELECT …\"; --format also takes json and \
             ndjson.",
        )),
        false => Ok(()),
    }
}

fn check(location: &str) -> Result<()> {
    let path = location.strip_prefix("file://").unwrap_or(location);
    if ["/proc/", "/sys/"].iter().any(|system| path.starts_with(system)) {
        return Err(refused(
            format!("`{path}` is a file of the kernel, and no place for tables"),
            "Name a file in a folder of your own.",
        ));
    }
    let Some((scheme, rest)) = location.split_once("://") else { return Ok(()) };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if scheme != "s3" {
        let without = host.rsplit_once('@').map(|(_, host)| host);
        // A `?` alone may be a wildcard in a file name.
        let asks = path.split_once('?').is_some_and(|(_, query)| query.contains('='));
        if without.is_none() && !asks {
            return Ok(());
        }
        let host = without.unwrap_or(host);
        let message =
            format!("a location has no user name, no password and no query: {scheme}://{host}/");
        return Err(refused(
            message,
            "Write it without, and give keys by AWS_ACCESS_KEY_ID or a profile.",
        ));
    }
    check_bucket(host)?;
    let shown = location.escape_debug();
    if location.contains(char::is_control) {
        let message = format!("`{shown}` has a control character, which keys here cannot have");
        return Err(refused(message, "Check the key, or copy the object to another one."));
    }
    if path.split('/').rev().skip(1).any(str::is_empty) {
        let message = format!("`{shown}` has nothing between two `/`, which keys here cannot have");
        return Err(refused(message, "Leave one `/` out, or copy the object to another key."));
    }
    match path.split('/').find(|part| [".", ".."].contains(part)) {
        Some(part) => Err(refused(
            format!("`{shown}` has the part `{part}`, which keys here cannot have"),
            "It would be another key: write that one.",
        )),
        None => Ok(()),
    }
}

fn refused(message: String, hint: &str) -> DataFusionError {
    UserError { kind: ErrorKind::Plan, message, hint: Some(hint.to_owned()) }.into()
}

#[cfg(test)]
mod tests {
    use datafusion::datasource::listing::ListingTableUrl;

    use super::*;

    #[test]
    fn keys_are_what_is_written() {
        for key in [
            "a.csv",
            "p%41.csv",
            "%",
            "50%25",
            "a#b?c.csv",
            "a b/ü+&=.csv",
            "x%2Fy",
            "..a/b.",
            "a.csv ",
            " a /b  ",
        ] {
            let location = format!("s3://bucket/{key}");
            let url = ListingTableUrl::parse(as_url(&location).unwrap()).unwrap();
            assert_eq!(url.prefix().as_ref(), key);
        }
        assert_eq!(as_url("file:///tmp/a%20b.csv").unwrap(), "file:///tmp/a%20b.csv");
        assert_eq!(as_url("file:///tmp/a b.csv ").unwrap(), "file:///tmp/a%20b.csv%20");
        assert_eq!(as_url("/tmp/a b.csv ").unwrap(), "/tmp/a b.csv ");
    }

    #[test]
    fn what_would_be_another_key_is_refused() {
        for key in ["a\nb.csv", "a\tb", "../x.csv", "a/../b", "a/./b", "a/..", "/a", "a//b", "a//"]
        {
            let error = as_url(&format!("s3://bucket/{key}")).unwrap_err().to_string();
            assert!(error.contains("keys here cannot have"), "{error}");
        }
        for location in ["s3://bucket", "s3://bucket/", "s3://bucket/a/", "/tmp//a.csv"] {
            assert!(as_url(location).is_ok(), "{location}");
        }
    }

    #[test]
    fn secrets_in_urls_are_refused_and_not_shown() {
        for url in [
            "https://user:secret@host/a.csv?token=secret",
            "https://user:a@secret@host/a.csv",
            "https://host/a.csv?token=secret",
        ] {
            let error = as_url(url).unwrap_err().to_string();
            assert!(error.ends_with("no query: https://host/"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        for url in [
            "s3://anna:geheim@b/a.csv",
            "s3://geheim@b/a/",
            "s3://anna:geheim/a.csv",
            "s3://anna:ge/heim@b/a.csv",
            "s3://anna:geheim@b:9000/*.csv",
            "s3://b:geheim",
        ] {
            let error = as_url(url).unwrap_err().to_string();
            assert!(error.contains("no password and no port: s3://b"), "{error}");
            assert!(!["anna", "heim"].iter().any(|it| error.contains(it)), "{error}");
        }
        assert!(as_url("file:///a?.csv").is_ok());
        assert!(as_url("s3://b/a@b:c.csv").is_ok());
    }
}
