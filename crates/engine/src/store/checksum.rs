//! The checksum that a store offers with an object.

use aws_smithy_checksums::ChecksumAlgorithm;
use aws_smithy_checksums::http::HttpChecksum;
use http::{HeaderMap, HeaderValue};

/// The header that requests a checksum.
pub(crate) const MODE: (&str, &str) = ("x-amz-checksum-mode", "ENABLED");

/// A checksum of the bytes of a whole object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checksum {
    algorithm: ChecksumAlgorithm,
    value: HeaderValue,
}

impl Checksum {
    /// Returns the checksum of an answer that is the fastest to compute. `COMPOSITE` checksums are skipped, because
    /// they are computed from the checksums of the object's parts, not from its bytes.
    pub(crate) fn offered(headers: &HeaderMap) -> Option<Self> {
        use ChecksumAlgorithm as A;
        let composite = headers.get("x-amz-checksum-type").is_some_and(|it| it == "COMPOSITE");
        let offered = [A::Crc64Nvme, A::Crc32c, A::Crc32, A::Sha1, A::Sha256].into_iter();
        let mut offered = offered.filter_map(|algorithm| {
            let value = headers.get(algorithm.into_impl().header_name())?;
            let of_parts = composite || value.as_bytes().contains(&b'-');
            (!of_parts).then(|| Self { algorithm, value: value.clone() })
        });
        offered.next()
    }

    /// Returns the name of the algorithm, such as `crc64nvme`.
    pub(crate) fn name(&self) -> &'static str {
        self.algorithm.as_str()
    }

    /// Begins to compute the checksum of arriving bytes.
    pub(crate) fn begin(&self) -> Box<dyn HttpChecksum> {
        self.algorithm.into_impl()
    }

    /// Returns whether the checksum of all bytes equals this one.
    pub(crate) fn is(&self, computed: Box<dyn HttpChecksum>) -> bool {
        computed.header_value() == self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(headers: &[(&'static str, &'static str)]) -> Option<Checksum> {
        let headers = headers.iter().map(|(name, value)| {
            (http::HeaderName::from_static(name), HeaderValue::from_static(value))
        });
        Checksum::offered(&headers.collect())
    }

    /// The checksums of `123456789`, from catalogues of CRCs and the definitions of SHA.
    const OF_DIGITS: [(&str, &str); 5] = [
        ("x-amz-checksum-crc64nvme", "rosUhgp5mIg="),
        ("x-amz-checksum-crc32c", "4waSgw=="),
        ("x-amz-checksum-crc32", "y/Q5Jg=="),
        ("x-amz-checksum-sha1", "98O8HYCOBHMq32eZZczDTKeuNEE="),
        ("x-amz-checksum-sha256", "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="),
    ];

    #[test]
    fn every_checksum_of_s3_is_computed() {
        for header in OF_DIGITS {
            let checksum = offered(&[header]).unwrap();
            let computed = |texts: [&[u8]; 2]| {
                let mut computed = checksum.begin();
                texts.into_iter().for_each(|text| computed.update(text));
                computed
            };
            assert!(checksum.is(computed([b"1234", b"56789"])), "{header:?}");
            assert!(!checksum.is(computed([b"1234", b"56788"])), "{header:?}");
        }
    }

    #[test]
    fn the_fastest_one_of_the_bytes_themselves_is_taken() {
        assert_eq!(offered(&OF_DIGITS).unwrap().name(), "crc64nvme");
        assert_eq!(offered(&[("x-amz-checksum-crc32", "y/Q5Jg==-3")]), None);
        let composite = ("x-amz-checksum-type", "COMPOSITE");
        assert_eq!(offered(&[OF_DIGITS[1], composite]), None);
        assert!(offered(&[OF_DIGITS[1], ("x-amz-checksum-type", "FULL_OBJECT")]).is_some());
        assert_eq!(offered(&[("etag", "\"x\"")]), None);
    }
}
