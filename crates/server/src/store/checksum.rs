//! The checksums that clients send with a body, and that the store returns with an object.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crc_fast::{CrcAlgorithm, checksum_combine};
use s3s::checksum::ChecksumHasher;
use s3s::crypto::{Checksum as _, Crc32, Crc32c, Crc64Nvme, Md5, Sha1, Sha256};
use s3s::{S3Result, s3_error};
use serde::{Deserialize, Serialize};

/// A checksum algorithm of S3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Algorithm {
    Crc32,
    Crc32c,
    Crc64Nvme,
    Sha1,
    Sha256,
}

impl Algorithm {
    pub(crate) const ALL: [Self; 5] =
        [Self::Crc32, Self::Crc32c, Self::Crc64Nvme, Self::Sha1, Self::Sha256];

    /// Returns the name that `x-amz-checksum-algorithm` uses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Crc32 => "CRC32",
            Self::Crc32c => "CRC32C",
            Self::Crc64Nvme => "CRC64NVME",
            Self::Sha1 => "SHA1",
            Self::Sha256 => "SHA256",
        }
    }

    /// Returns the header, or trailer, that holds such a checksum.
    pub(crate) fn header(self) -> &'static str {
        match self {
            Self::Crc32 => "x-amz-checksum-crc32",
            Self::Crc32c => "x-amz-checksum-crc32c",
            Self::Crc64Nvme => "x-amz-checksum-crc64nvme",
            Self::Sha1 => "x-amz-checksum-sha1",
            Self::Sha256 => "x-amz-checksum-sha256",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|a| a.name().eq_ignore_ascii_case(name))
    }
}

/// Checksums by algorithm, in base64.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Checksums {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crc32: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crc32c: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crc64nvme: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sha1: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<String>,
    /// True if these are checksums of the parts' checksums instead of the bytes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) composite: bool,
}

impl Checksums {
    pub(crate) fn is_empty(&self) -> bool {
        Algorithm::ALL.iter().all(|a| self.get(*a).is_none())
    }

    pub(crate) fn get(&self, algorithm: Algorithm) -> Option<&str> {
        match algorithm {
            Algorithm::Crc32 => self.crc32.as_deref(),
            Algorithm::Crc32c => self.crc32c.as_deref(),
            Algorithm::Crc64Nvme => self.crc64nvme.as_deref(),
            Algorithm::Sha1 => self.sha1.as_deref(),
            Algorithm::Sha256 => self.sha256.as_deref(),
        }
    }

    /// Returns the checksums that are set.
    pub(crate) fn each(&self) -> impl Iterator<Item = (Algorithm, &str)> {
        Algorithm::ALL.into_iter().filter_map(|algorithm| Some((algorithm, self.get(algorithm)?)))
    }

    pub(crate) fn set(&mut self, algorithm: Algorithm, value: String) {
        let field = match algorithm {
            Algorithm::Crc32 => &mut self.crc32,
            Algorithm::Crc32c => &mut self.crc32c,
            Algorithm::Crc64Nvme => &mut self.crc64nvme,
            Algorithm::Sha1 => &mut self.sha1,
            Algorithm::Sha256 => &mut self.sha256,
        };
        *field = Some(value);
    }
}

/// The declared hashes of a body.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expected {
    /// The value of `Content-MD5`, in base64.
    pub(crate) md5: Option<String>,
    pub(crate) checksums: Checksums,
    /// An algorithm that is requested without a value in the headers. The value is in the trailers, or absent.
    pub(crate) wanted: Option<Algorithm>,
}

/// Hashes a body as it is received.
pub(crate) struct Hasher {
    md5: Md5,
    crc64: Crc64Nvme,
    wants_crc64: bool,
    checksums: ChecksumHasher,
}

/// The hashes of a body.
#[derive(Debug, Clone)]
pub(crate) struct Digest {
    pub(crate) md5: Vec<u8>,
    /// The CRC-64/NVME of the body.
    pub(crate) crc64: u64,
    pub(crate) checksums: Checksums,
}

impl Hasher {
    /// Creates a hasher for MD5, CRC-64/NVME and the requested algorithms.
    pub(crate) fn new(algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        let (mut checksums, mut wants_crc64) = (ChecksumHasher::default(), false);
        for algorithm in algorithms {
            match algorithm {
                Algorithm::Crc32 => checksums.crc32 = Some(Crc32::new()),
                Algorithm::Crc32c => checksums.crc32c = Some(Crc32c::new()),
                // This one is always computed.
                Algorithm::Crc64Nvme => wants_crc64 = true,
                Algorithm::Sha1 => checksums.sha1 = Some(Sha1::new()),
                Algorithm::Sha256 => checksums.sha256 = Some(Sha256::new()),
            }
        }
        Self { md5: Md5::new(), crc64: Crc64Nvme::new(), wants_crc64, checksums }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.md5.update(bytes);
        self.crc64.update(bytes);
        self.checksums.update(bytes);
    }

    pub(crate) fn finish(self) -> Digest {
        let found = self.checksums.finalize();
        let crc64 = self.crc64.finalize();
        Digest {
            crc64: u64::from_be_bytes(crc64),
            md5: self.md5.finalize().as_ref().to_vec(),
            checksums: Checksums {
                crc32: found.checksum_crc32,
                crc32c: found.checksum_crc32c,
                crc64nvme: self.wants_crc64.then(|| STANDARD.encode(crc64)),
                sha1: found.checksum_sha1,
                sha256: found.checksum_sha256,
                composite: false,
            },
        }
    }
}

impl Expected {
    /// Returns the algorithms to compute.
    pub(crate) fn algorithms(&self) -> impl Iterator<Item = Algorithm> + '_ {
        Algorithm::ALL
            .into_iter()
            .filter(|a| self.checksums.get(*a).is_some() || self.wanted == Some(*a))
    }

    /// Refuses a body that does not match its declared hashes.
    pub(crate) fn verify(&self, digest: &Digest) -> S3Result<()> {
        if let Some(md5) = &self.md5 {
            let md5 = STANDARD.decode(md5).ok().filter(|md5| md5.len() == 16);
            let Some(md5) = md5 else {
                return Err(s3_error!(InvalidDigest, "Content-MD5 is not an MD5 in base64"));
            };
            if md5 != digest.md5 {
                return Err(s3_error!(BadDigest, "the body does not match Content-MD5"));
            }
        }
        for algorithm in Algorithm::ALL {
            if let Some(expected) = self.checksums.get(algorithm)
                && digest.checksums.get(algorithm) != Some(expected)
            {
                let header = algorithm.header();
                return Err(s3_error!(BadDigest, "the body does not match {header}"));
            }
        }
        Ok(())
    }
}

/// Returns the checksum of a multipart object: that of its parts' checksums, followed by their number.
pub(crate) fn composite(algorithm: Algorithm, parts: &[&str]) -> Option<String> {
    let mut hasher = Hasher::new([algorithm]);
    for part in parts {
        hasher.update(&STANDARD.decode(part).ok()?);
    }
    let digest = hasher.finish();
    Some(format!("{}-{}", digest.checksums.get(algorithm)?, parts.len()))
}

/// Computes the checksum of consecutive pieces from the checksums and lengths of the pieces. Only CRCs can be
/// combined.
pub(crate) fn combine<'a>(
    algorithm: Algorithm,
    pieces: impl IntoIterator<Item = (&'a str, u64)>,
) -> Option<String> {
    let mut pieces = pieces.into_iter().map(|(sum, length)| {
        let bytes = STANDARD.decode(sum).ok()?;
        Some((bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)), length))
    });
    let (crc, width) = match algorithm {
        Algorithm::Crc32 => (CrcAlgorithm::Crc32IsoHdlc, 4),
        Algorithm::Crc32c => (CrcAlgorithm::Crc32Iscsi, 4),
        Algorithm::Crc64Nvme => (CrcAlgorithm::Crc64Nvme, 8),
        Algorithm::Sha1 | Algorithm::Sha256 => return None,
    };
    let (first, _) = pieces.next()??;
    let whole = pieces.try_fold(first, |sum, piece| {
        let (next, length) = piece?;
        Some(checksum_combine(crc, sum, next, length))
    })?;
    Some(STANDARD.encode(&whole.to_be_bytes()[8 - width..]))
}

/// Like [`combine`], but for CRC-64/NVMEs as numbers.
pub(crate) fn combine_crc64(pieces: impl IntoIterator<Item = (u64, u64)>) -> Option<u64> {
    pieces
        .into_iter()
        .reduce(|(sum, before), (next, length)| {
            (checksum_combine(CrcAlgorithm::Crc64Nvme, sum, next, length), before + length)
        })
        .map(|(sum, _)| sum)
}

/// Encodes a CRC-64/NVME for a header.
pub(crate) fn base64_of_crc64(crc64: u64) -> String {
    STANDARD.encode(crc64.to_be_bytes())
}

/// Computes the CRC-64/NVME of bytes that are read.
#[derive(Default)]
pub(crate) struct Crc64(Crc64Nvme);

impl Crc64 {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> u64 {
        u64::from_be_bytes(self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(bytes: &[u8]) -> Digest {
        let mut hasher = Hasher::new(Algorithm::ALL);
        hasher.update(bytes);
        hasher.finish()
    }

    #[test]
    fn published_check_values() {
        let digest = digest(b"123456789");
        assert_eq!(digest.checksums.get(Algorithm::Crc32), Some("y/Q5Jg=="));
        assert_eq!(digest.checksums.get(Algorithm::Crc32c), Some("4waSgw=="));
        assert_eq!(digest.checksums.get(Algorithm::Crc64Nvme), Some("rosUhgp5mIg="));
    }

    #[test]
    fn checksums_of_pieces_combine_to_that_of_the_whole() {
        let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        for cuts in [vec![], vec![1], vec![40_000, 90_000], vec![0, 5, 99_999]] {
            let mut pieces = Vec::new();
            let mut from = 0;
            for to in cuts.into_iter().chain([bytes.len()]) {
                pieces.push((digest(&bytes[from..to]), (to - from) as u64));
                from = to;
            }
            let whole = digest(&bytes);
            for algorithm in [Algorithm::Crc32, Algorithm::Crc32c, Algorithm::Crc64Nvme] {
                let sums = pieces.iter().map(|(d, n)| (d.checksums.get(algorithm).unwrap(), *n));
                let combined = combine(algorithm, sums);
                assert_eq!(combined.as_deref(), whole.checksums.get(algorithm), "{algorithm:?}");
            }
            let crc64 = combine_crc64(pieces.iter().map(|(d, n)| (d.crc64, *n)));
            assert_eq!(crc64, Some(whole.crc64));
        }
        assert_eq!(combine(Algorithm::Sha256, [("AAAA", 3)]), None);
    }

    #[test]
    fn a_wrong_body_is_refused() {
        let mut expected =
            Expected { md5: Some("CY9rzUYh03PK3k6DJie09g==".into()), ..Expected::default() };
        expected.checksums.set(Algorithm::Crc32, "2H9+DA==".into());
        assert!(expected.verify(&digest(b"test")).is_ok());
        let error = expected.verify(&digest(b"tesT")).unwrap_err();
        assert_eq!(error.code().as_str(), "BadDigest");
        expected.md5 = None;
        let error = expected.verify(&digest(b"tesT")).unwrap_err();
        assert_eq!(error.code().as_str(), "BadDigest");
        expected.md5 = Some("nonsense".into());
        let error = expected.verify(&digest(b"test")).unwrap_err();
        assert_eq!(error.code().as_str(), "InvalidDigest");
    }

    #[test]
    fn names_are_read_back() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::from_name(&algorithm.name().to_lowercase()), Some(algorithm));
        }
        assert_eq!(Algorithm::from_name("MD5"), None);
    }
}
