//! What runs out: the resources that a strategy keeps busy.

use std::fmt;

/// Something that runs out. A phase is bound by the resource that it keeps busy longest.
///
/// The set is open. The constants are what every scan needs and [`crate::HardwareProfile`] has
/// rates for; an operator may name more, such as the pipeline of a switch, and ask for them with a
/// [`Use`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Resource(&'static str);

impl Resource {
    /// The bytes that cross the link.
    pub const LINK: Self = Self("link");
    /// The connections that may be open at once: waiting for answers, and one connection's rate.
    pub const REQUEST_SLOTS: Self = Self("request slots");
    /// The requests per second that store and client can take.
    pub const REQUEST_RATE: Self = Self("request rate");
    /// The store's scan for S3 Select.
    pub const STORE_SCAN: Self = Self("store scan");
    /// The client's parsing.
    pub const CLIENT: Self = Self("client");
    /// The cores of a machine that is store and client.
    pub const SHARED_CORES: Self = Self("shared cores");

    /// A resource of this name. Two of the same name are the same resource.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Its name, as EXPLAIN shows it and hardware profiles spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

/// A demand on a resource beyond those that follow from requests and bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Use {
    /// The resource. One of [`Resource`]'s constants adds to the demand that is there.
    pub resource: Resource,
    /// How much of it, in units of the resource's own: packets, rows, hashes.
    pub amount: f64,
    /// Units per second where the hardware profile's `[capacities]` do not name the resource.
    pub per_second: f64,
}

/// The time that each resource is busy, in seconds; every resource once.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Demands(Vec<(Resource, f64)>);

impl Demands {
    pub(crate) fn add(&mut self, resource: Resource, seconds: f64) {
        match self.0.iter_mut().find(|(known, _)| *known == resource) {
            Some((_, busy)) => *busy += seconds,
            None => self.0.push((resource, seconds)),
        }
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        for (resource, seconds) in &other.0 {
            self.add(*resource, *seconds);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Resource, f64)> {
        self.0.iter().copied()
    }

    /// The resource that is busy longest, and how long; of equals, the first.
    pub(crate) fn longest(&self) -> (Resource, f64) {
        self.iter().fold(
            (Resource::LINK, 0.0),
            |longest, next| {
                if next.1 > longest.1 { next } else { longest }
            },
        )
    }

    /// How long all of them take, if `overlap` (0 to 1) of the others' time hides behind the
    /// longest one's.
    ///
    /// The link and its connections carry the same bytes at the same time, so the shorter of these two
    /// times is always hidden. Cores that store and client share have no work but theirs.
    pub(crate) fn combined(&self, overlap: f64) -> f64 {
        let longest = self.longest().1;
        let of = |resource| {
            self.iter().find(|(known, _)| *known == resource).map_or(0.0, |(_, seconds)| seconds)
        };
        let hidden =
            of(Resource::LINK).min(of(Resource::REQUEST_SLOTS)) + of(Resource::SHARED_CORES);
        let rest = self.iter().map(|(_, seconds)| seconds).sum::<f64>() - longest - hidden;
        longest + (1.0 - overlap) * rest.max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_is_not_counted_for_the_link_and_again_for_its_connections() {
        let mut demands = Demands::default();
        demands.add(Resource::LINK, 4.0);
        demands.add(Resource::REQUEST_SLOTS, 3.0);
        demands.add(Resource::CLIENT, 2.0);
        assert_eq!([1.0, 0.5, 0.0].map(|overlap| demands.combined(overlap)), [4.0, 5.0, 6.0]);
        demands.add(Resource::CLIENT, 4.0);
        assert_eq!([1.0, 0.5, 0.0].map(|overlap| demands.combined(overlap)), [6.0, 8.0, 10.0]);
    }

    #[test]
    fn cores_that_are_shared_are_counted_once() {
        let mut demands = Demands::default();
        demands.add(Resource::LINK, 4.0);
        demands.add(Resource::STORE_SCAN, 3.0);
        demands.add(Resource::CLIENT, 2.0);
        assert_eq!([1.0, 0.0].map(|overlap| demands.combined(overlap)), [4.0, 9.0]);
        demands.add(Resource::SHARED_CORES, 5.0);
        assert_eq!([1.0, 0.0].map(|overlap| demands.combined(overlap)), [5.0, 9.0]);
        demands.add(Resource::STORE_SCAN, 3.0);
        assert_eq!([1.0, 0.0].map(|overlap| demands.combined(overlap)), [6.0, 12.0]);
    }
}
