//! The sections of the AWS profile files.

use std::env;

use aws_config::Region;
use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_types::os_shim_internal::{Env, Fs};

use super::error::Error;
use super::https;

/// Names the files in which sections are looked up.
fn profile_files() -> String {
    let of = |variable: &str, usual: &str| {
        let named = env::var(variable).ok().filter(|path| !path.is_empty());
        named.unwrap_or_else(|| usual.to_owned()).escape_debug().to_string()
    };
    let (config, credentials) = ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE");
    format!("{} and {}", of(config, "~/.aws/config"), of(credentials, "~/.aws/credentials"))
}

/// Checks that a section exists.
///
/// # Errors
///
/// If it does not exist. The error lists the existing sections. Unreadable files are not an error here, because they
/// are reported when credentials are loaded.
pub(super) async fn check(name: &str) -> Result<(), Error> {
    let (fs, env, files) = (Fs::real(), Env::real(), Default::default());
    let loaded = aws_config::profile::load(&fs, &env, &files, None).await;
    let Ok(sections) = loaded else { return Ok(()) };
    if sections.get_profile(name).is_some() {
        return Ok(());
    }
    let mut known: Vec<String> = sections.profiles().map(str::to_owned).collect();
    known.sort_unstable();
    Err(Error::NoProfile { name: name.to_owned(), known, files: profile_files() })
}

/// Returns a provider of the credentials of this section only.
pub(super) fn provider(name: &str, region: &Region) -> ProfileFileCredentialsProvider {
    let config =
        ProviderConfig::default().with_http_client(https()).with_region(Some(region.clone()));
    ProfileFileCredentialsProvider::builder().configure(&config).profile_name(name).build()
}
