//! The policy of the page, which browsers enforce.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

/// Returns a Content-Security-Policy that allows this script, styles within the page, and no request.
pub(super) fn policy(script: &str) -> String {
    let hash = BASE64_STANDARD.encode(Sha256::digest(script));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'"
    )
}
