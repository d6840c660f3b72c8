//! Locations as users write them, and the URLs that DataFusion takes them for.

use std::borrow::Cow;

/// The URL of a location. DataFusion reads the path of a URL as percent-encoded, without what follows `?`
/// or `#`; a key in a bucket is written as it is, here as everywhere else.
pub(crate) fn as_url(location: &str) -> Cow<'_, str> {
    const ESCAPES: [(char, &str); 3] = [('%', "%25"), ('?', "%3F"), ('#', "%23")];
    if !location.starts_with("s3://") || !location.contains(ESCAPES.map(|(c, _)| c)) {
        return Cow::Borrowed(location);
    }
    let escaped =
        ESCAPES.iter().fold(location.to_owned(), |url, (c, escape)| url.replace(*c, escape));
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use datafusion::datasource::listing::ListingTableUrl;

    use super::*;

    #[test]
    fn keys_are_what_is_written() {
        for key in ["a.csv", "p%41.csv", "%", "50%25", "a#b?c.csv", "a b/ü+&=.csv", "x%2Fy"] {
            let location = format!("s3://bucket/{key}");
            let url = ListingTableUrl::parse(as_url(&location)).unwrap();
            assert_eq!(url.prefix().as_ref(), key);
        }
        assert_eq!(as_url("file:///tmp/a%20b.csv"), "file:///tmp/a%20b.csv");
    }
}
