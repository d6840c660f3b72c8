//! Bodies in `aws-chunked` form: the server stores the contents of the chunks, and only if they are complete.
//!
//! The first byte chooses the server, the kind of chunks and the declared length of the body, the second the size of
//! the pieces in which it is sent. The rest is the body itself, or a recipe for one. Lengths and signatures of a
//! recipe's body are right unless the recipe breaks them, so that they do not reject every mutation.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluicegate_fuzz::sign::Signer;
use sluicegate_fuzz::store::Store;

thread_local! {
    static STORES: [Store; 2] = [Store::anonymous().unwrap(), Store::signed().unwrap()];
}

/// A body with the object that the server should store.
#[derive(Debug, Default)]
struct Chunked {
    body: Vec<u8>,
    object: Vec<u8>,
    /// True if something in the body is wrong.
    spoilt: bool,
}

impl Chunked {
    /// Adds a chunk. `signature` is that of the previous chunk, if chunks are signed.
    fn push(&mut self, how: u8, bytes: &[u8], signer: &Signer, signature: Option<&mut String>) {
        let size = match how {
            4 => format!("{:X}", bytes.len()),
            5 => format!("000{:x}", bytes.len()),
            _ => format!("{:x}", bytes.len()),
        };
        self.body.extend(size.bytes());
        if let Some(signature) = signature {
            // Sign other bytes than those sent.
            let other = if how == 6 { b"other" } else { bytes };
            self.spoilt |= other != bytes;
            *signature = signer.chunk(signature, other);
            self.body.extend(format!(";chunk-signature={signature}").bytes());
        }
        self.body.extend(b"\r\n");
        if !bytes.is_empty() {
            self.body.extend(bytes);
            self.body.extend(b"\r\n");
        }
        self.object.extend(bytes);
    }

    fn cook(
        mut recipe: &[u8],
        signer: &Signer,
        mut signature: Option<String>,
        sum: Option<bool>,
    ) -> Self {
        let mut chunked = Self::default();
        while let [how, length, rest @ ..] = recipe {
            let (bytes, behind) = rest.split_at(usize::from(*length).min(rest.len()));
            recipe = behind;
            if bytes.is_empty() {
                continue;
            }
            if how & 7 == 7 {
                // Nothing may stand between chunks.
                chunked.body.extend(b"?");
                chunked.body.extend(bytes);
                chunked.spoilt = true;
            } else {
                chunked.push(how & 7, bytes, signer, signature.as_mut());
            }
        }
        chunked.push(0, b"", signer, signature.as_mut());
        if let Some(right) = sum {
            chunked.spoilt |= !right;
            let sum = crc32fast::hash(&chunked.object) ^ u32::from(!right);
            let sum = base64(sum.to_be_bytes());
            chunked.body.extend(format!("x-amz-checksum-crc32:{sum}\r\n").bytes());
        }
        chunked.body.extend(b"\r\n");
        chunked
    }
}

/// Encodes four bytes in Base64.
fn base64(bytes: [u8; 4]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = u64::from(u32::from_be_bytes(bytes)) << 4;
    let digits = (0..6).rev().map(|i| char::from(DIGITS[(bits >> (6 * i) & 63) as usize]));
    digits.chain("==".chars()).collect()
}

/// Returns the contents of the chunks, if the body reaches the last one.
fn decode(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut object = Vec::new();
    loop {
        let end = body.windows(2).position(|w| w == b"\r\n")?;
        let line = std::str::from_utf8(&body[..end]).ok()?;
        let digits = line.split(';').next()?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then_some(())?;
        let size = usize::from_str_radix(digits, 16).ok()?;
        if size == 0 {
            return Some(object);
        }
        let chunk = body.get(end + 2..)?.get(..size)?;
        object.extend(chunk);
        body = body[end + 2 + size..].strip_prefix(b"\r\n")?;
    }
}

fuzz_target!(|input: &[u8]| {
    let [choice, piece, rest @ ..] = input else { return };
    let raw = choice & 1 != 0;
    let is_signed = choice & 2 != 0;
    let signs_chunks = is_signed && choice & 4 != 0;
    // Bodies with unsigned chunks end with a checksum.
    let sum = (!signs_chunks).then_some(choice & 8 == 0);
    let lie = i64::from(choice >> 4 & 1) - i64::from(choice >> 5 & 1);

    let signer = Signer::now();
    let mut chunked = match raw {
        true => {
            let object = decode(rest);
            let spoilt = object.is_none() || signs_chunks;
            Chunked { body: rest.to_vec(), object: object.unwrap_or_default(), spoilt }
        }
        false => Chunked::cook(rest, &signer, None, sum),
    };
    let declared = (chunked.object.len() as i64 + lie).max(0);
    let host = "localhost";
    let kind = match signs_chunks {
        true => "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        false => "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
    };
    let mut headers = vec![
        ("content-encoding", "aws-chunked".to_owned()),
        ("host", host.to_owned()),
        ("x-amz-content-sha256", kind.to_owned()),
        ("x-amz-date", signer.time.clone()),
        ("x-amz-decoded-content-length", declared.to_string()),
    ];
    if sum.is_some() {
        headers.push(("x-amz-trailer", "x-amz-checksum-crc32".to_owned()));
    }
    let headers: Vec<_> = headers.into_iter().map(|(n, v)| (n.to_owned(), v)).collect();
    let signature = signer.signature(("PUT", "/bucket/k"), &[], &headers, kind);
    if signs_chunks && !raw {
        chunked = Chunked::cook(rest, &signer, Some(signature.clone()), sum);
    }
    let mut request = String::from("PUT /bucket/k HTTP/1.1\r\nconnection: close\r\n");
    for (name, value) in &headers {
        request += &format!("{name}: {value}\r\n");
    }
    if is_signed {
        request += &format!("authorization: {}\r\n", signer.authorization(&headers, &signature));
    }
    request += &format!("content-length: {}\r\n\r\n", chunked.body.len());
    let request = [request.as_bytes(), &chunked.body].concat();
    let piece = if *piece == 0 { request.len() } else { usize::from(*piece) };

    STORES.with(|stores| {
        let store = &stores[usize::from(is_signed)];
        let answer = store.ask(&request, piece);
        let stored = store.object("k");
        store.reset().unwrap();
        if let Some(answer) = &answer {
            assert!(answer.status < 500 || answer.status == 501, "{answer:?}");
        }
        let is_good = answer.as_ref().is_some_and(|answer| answer.is_good());
        let is_right = !chunked.spoilt && declared == chunked.object.len() as i64;
        if is_good {
            assert!(is_right, "it takes {chunked:?} for {declared} bytes");
            assert_eq!(stored.as_deref(), Some(&*chunked.object));
        } else {
            assert!(stored.is_none(), "{answer:?}");
            // A raw body may be wrong after the last chunk, where `decode` does not look.
            assert!(!is_right || raw, "it refuses {chunked:?}: {answer:?}");
        }
    });
});
