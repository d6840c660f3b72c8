//! The fields that many requests and answers of S3 share by name. `s3s` gives every request and answer a struct of
//! its own, so macros read and fill them.

/// Reads the checksums in a request.
macro_rules! stated_checksums {
    ($request:expr) => {
        $crate::store::Checksums {
            crc32: $request.checksum_crc32,
            crc32c: $request.checksum_crc32c,
            crc64nvme: $request.checksum_crc64nvme,
            sha1: $request.checksum_sha1,
            sha256: $request.checksum_sha256,
            composite: false,
        }
    };
}

/// Reads the body of a request with its declared length and checksums. The algorithm `$wanted` is computed as well.
macro_rules! incoming {
    ($request:ident, $input:ident, $wanted:expr, $fault:expr) => {
        $crate::api::receive::IncomingUpload {
            body: $input.body,
            length: $input.content_length,
            expected: $crate::store::Expected {
                md5: $input.content_md5,
                checksums: stated_checksums!($input),
                wanted: $wanted,
            },
            announced: $crate::api::receive::announced(&$request.headers),
            trailers: $request.trailing_headers,
            state: $request.extensions.get().cloned().unwrap_or_default(),
            fault: $fault,
        }
    };
}

/// Reads the headers and the metadata that a request gives an object.
macro_rules! given_meta {
    ($input:ident) => {
        $crate::store::Meta {
            cache_control: $input.cache_control,
            content_disposition: $input.content_disposition,
            content_encoding: $crate::api::writes::content_encoding($input.content_encoding),
            content_language: $input.content_language,
            content_type: $input.content_type,
            expires: $crate::api::writes::seconds($input.expires),
            user: $crate::api::writes::user_metadata($input.metadata)?,
            ..$crate::store::Meta::default()
        }
    };
}

/// Reads the conditions of a read.
macro_rules! conditions {
    ($input:ident) => {
        $crate::store::Conditions {
            if_match: $input.if_match,
            if_none_match: $input.if_none_match,
            if_modified_since: $input.if_modified_since,
            if_unmodified_since: $input.if_unmodified_since,
        }
    };
}

/// Reads the conditions on the source of a copy.
macro_rules! source_conditions {
    ($input:ident) => {
        $crate::store::Conditions {
            if_match: $input.copy_source_if_match,
            if_none_match: $input.copy_source_if_none_match,
            if_modified_since: $input.copy_source_if_modified_since,
            if_unmodified_since: $input.copy_source_if_unmodified_since,
        }
    };
}

/// Fills an answer with checksums and the fields given.
macro_rules! with_checksums {
    ($checksums:expr, $answer:ident { $($fields:tt)* }) => {{
        let checksums = $checksums;
        $answer {
            checksum_crc32: checksums.crc32,
            checksum_crc32c: checksums.crc32c,
            checksum_crc64nvme: checksums.crc64nvme,
            checksum_sha1: checksums.sha1,
            checksum_sha256: checksums.sha256,
            $($fields)*
        }
    }};
}

/// Fills the answer to a read of a slice of an object, with the fields given.
macro_rules! described {
    ($head:ident, $slice:ident, $length:ident, $input:ident, $answer:ident { $($field:ident: $value:expr),* }) => {{
        let meta = $head.meta;
        let checksums = visible_checksums(&meta, &$slice, $input.checksum_mode.as_ref());
        let content_type = content_type_of(&meta).to_owned();
        $answer {
            accept_ranges: Some("bytes".to_owned()),
            checksum_type: checksum_type(&checksums),
            parts_count: parts_count(&meta.parts, $input.part_number),
            content_length: $length,
            content_range: $slice.content_range,
            e_tag: Some(etag(&meta.etag)),
            expires: expires(meta.expires),
            last_modified: Some($head.modified.into()),
            cache_control: meta.cache_control,
            content_disposition: meta.content_disposition,
            content_encoding: meta.content_encoding,
            content_language: meta.content_language,
            content_type: Some(content_type),
            metadata: Some(meta.user.into_iter().collect()),
            ..with_checksums!(checksums, $answer { $($field: $value,)* ..$answer::default() })
        }
    }};
}

pub(super) use {
    conditions, described, given_meta, incoming, source_conditions, stated_checksums,
    with_checksums,
};
