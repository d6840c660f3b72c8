//! The machine and link that predictions assume by default.

use std::net::IpAddr;

use sluicegate_costmodel::HardwareProfile;

/// Returns the profile for a store at this URL: `local` on this machine, whose store has no link and shares its cores
/// with the client, `aws-in-region` for AWS, `remote-1gbit` for any other store. EXPLAIN names it with every
/// prediction; `sluice calibrate` measures a better one.
pub(crate) fn assumed(endpoint: Option<&str>) -> HardwareProfile {
    let name = match endpoint.map_or(Host::Aws, host) {
        Host::Here => return HardwareProfile::on_this_machine(),
        Host::Aws => "aws-in-region",
        Host::Elsewhere => "remote-1gbit",
    };
    HardwareProfile::by_name(name).unwrap_or_else(HardwareProfile::paper).clone()
}

/// The place of a store.
enum Host {
    Here,
    Aws,
    Elsewhere,
}

fn host(endpoint: &str) -> Host {
    let Ok(url) = url::Url::parse(endpoint) else { return Host::Elsewhere };
    let here = match url.host() {
        Some(url::Host::Ipv4(ip)) => IpAddr::from(ip).is_loopback(),
        Some(url::Host::Ipv6(ip)) => {
            ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
        }
        Some(url::Host::Domain(name)) if is_aws(name) => return Host::Aws,
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    };
    if here { Host::Here } else { Host::Elsewhere }
}

fn is_aws(name: &str) -> bool {
    name.ends_with(".amazonaws.com") || name.ends_with(".amazonaws.com.cn")
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
            let hardware = assumed(Some(near));
            assert_eq!(hardware.name, "local", "{near}");
            assert!(hardware.client.shares_cores && hardware.link.bytes_per_second.0 > 1e9);
        }
        for aws in
            ["https://s3.eu-central-1.amazonaws.com", "https://s3.cn-north-1.amazonaws.com.cn"]
        {
            assert_eq!(assumed(Some(aws)).name, "aws-in-region", "{aws}");
        }
        for far in [
            "https://amazonaws.com.example.com",
            "http://10.0.0.7:9000",
            "http://minio:9000",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "not a url",
        ] {
            assert_eq!(assumed(Some(far)).name, "remote-1gbit", "{far}");
        }
        assert_eq!(assumed(None).name, "aws-in-region");
    }
}
