//! Explanations of the error codes with which stores refuse access.

/// A fault in the credentials of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessFault {
    /// The predicate of a sentence that begins with "the store".
    pub words: &'static str,
    /// A sentence on how to fix the fault.
    pub hint: &'static str,
}

const WRONG_SECRET: AccessFault = AccessFault {
    words: "does not accept the signature of the secret key",
    hint: "Check AWS_SECRET_ACCESS_KEY, or the AWS profile, and that the endpoint is the store's own address: a proxy \
           that changes the host breaks signatures.",
};

const UNKNOWN_KEY: AccessFault = AccessFault {
    words: "does not know the access key",
    hint: "Check AWS_ACCESS_KEY_ID, or the AWS profile, and that the endpoint is the right one.",
};

const OTHER_TIME: AccessFault = AccessFault {
    words: "has another time than this machine",
    hint: "Set this machine's clock, which signatures depend on.",
};

const EXPIRED: AccessFault = AccessFault {
    words: "does not accept the credentials any more: they have expired",
    hint: "Get new temporary credentials, for example by `aws sso login`, and set AWS_ACCESS_KEY_ID, \
           AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN to them, or name their AWS profile.",
};

const WRONG_TOKEN: AccessFault = AccessFault {
    words: "does not accept the session token",
    hint: "Set AWS_SESSION_TOKEN to the token that came with the access key; unset it if the key is not temporary.",
};

const NO_ACCOUNT: AccessFault = AccessFault {
    words: "has closed the account, or its access",
    hint: "Ask whoever runs the store, or pays for it.",
};

/// Explains an S3 error code about credentials. `None` if the code is about something else, or means only that access
/// is refused.
#[must_use]
pub fn access_fault(code: &str) -> Option<AccessFault> {
    Some(match code {
        "SignatureDoesNotMatch" => WRONG_SECRET,
        "InvalidAccessKeyId" | "NotSignedUp" => UNKNOWN_KEY,
        "RequestTimeTooSkewed" | "RequestExpired" => OTHER_TIME,
        "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired" => EXPIRED,
        "InvalidToken" | "InvalidClientTokenId" => WRONG_TOKEN,
        "AccountProblem" | "AllAccessDisabled" => NO_ACCOUNT,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_different_kinds_have_different_words() {
        let codes = [
            "SignatureDoesNotMatch",
            "InvalidAccessKeyId",
            "RequestTimeTooSkewed",
            "ExpiredToken",
            "InvalidToken",
            "AccountProblem",
        ];
        let mut words: Vec<&str> = codes.iter().map(|it| access_fault(it).unwrap().words).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), codes.len());
        // `AccessDenied` does not reveal whether the key, the bucket or a policy is at fault.
        assert_eq!(access_fault("AccessDenied"), None);
        assert_eq!(access_fault("NoSuchKey"), None);
    }
}
