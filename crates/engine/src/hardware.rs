//! The machine and link that predictions assume by default.

use std::net::IpAddr;

use sluicegate_costmodel::HardwareProfile;

/// The profile for a store at this URL: `local-1gbit` on this machine, `aws-in-region` beside AWS
/// (no URL) and beside any store elsewhere. EXPLAIN names it with every prediction.
pub(crate) fn assumed(endpoint: Option<&str>) -> HardwareProfile {
    let name = if endpoint.is_some_and(is_loopback) { "local-1gbit" } else { "aws-in-region" };
    HardwareProfile::by_name(name).unwrap_or_else(HardwareProfile::paper).clone()
}

fn is_loopback(endpoint: &str) -> bool {
    let Ok(url) = url::Url::parse(endpoint) else { return false };
    match url.host() {
        Some(url::Host::Ipv4(ip)) => IpAddr::from(ip).is_loopback(),
        Some(url::Host::Ipv6(ip)) => {
            ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
        }
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_elsewhere_is_not_taken_for_one_on_this_machine() {
        for near in [
            "http://127.0.0.1:9000",
            "http://127.8.8.8",
            "https://[::1]:9000",
            "http://[::ffff:127.0.0.1]:9000",
            "http://localhost:9000",
            "http://bucket.localhost",
        ] {
            assert_eq!(assumed(Some(near)).name, "local-1gbit", "{near}");
        }
        for far in [
            "https://s3.eu-central-1.amazonaws.com",
            "http://10.0.0.7:9000",
            "http://minio:9000",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "not a url",
        ] {
            assert_eq!(assumed(Some(far)).name, "aws-in-region", "{far}");
        }
        assert_eq!(assumed(None).name, "aws-in-region");
    }
}
