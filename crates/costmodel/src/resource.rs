//! Resources that a strategy keeps busy, and the demands on them.

use std::fmt;

/// A resource with a limited rate. A phase is bound by the resource that it keeps busy longest.
///
/// The set is open. The constants are the resources that every scan needs and for which [`crate::HardwareProfile`]
/// has rates. An operator may name others, such as the pipeline of a switch, and place demands on them with a
/// [`ResourceUse`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Resource(&'static str);

impl Resource {
    /// The link, measured in bytes that cross it.
    pub const LINK: Self = Self("link");
    /// Slots for requests in flight: each waits for its answer, and then receives it at one connection's rate.
    pub const REQUEST_SLOTS: Self = Self("request slots");
    /// Reported as the bound instead of [`Self::REQUEST_SLOTS`] if requests spend more of their time receiving at the
    /// rate of their connections than waiting.
    pub const CONNECTION_RATE: Self = Self("connection rate");
    /// The limit of requests per second of store and client.
    pub const REQUEST_RATE: Self = Self("request rate");
    /// The store's scan for S3 Select.
    pub const STORE_SCAN: Self = Self("store scan");
    /// The client's cores, which parse and evaluate.
    pub const CLIENT: Self = Self("client");
    /// The cores of a machine that runs both store and client.
    pub const SHARED_CORES: Self = Self("shared cores");

    /// Creates a resource with this name. Resources with equal names are the same resource.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The resource's name, as EXPLAIN shows it and hardware profiles spell it.
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

/// A demand on a resource beyond the demands of requests and bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResourceUse {
    /// The resource. A demand on one of [`Resource`]'s constants adds to the demand of requests and bytes.
    pub resource: Resource,
    /// The amount, in the resource's own unit: packets, rows, hashes.
    pub amount: f64,
    /// Units per second, used if the hardware profile's `[capacities]` do not name the resource.
    pub per_second: f64,
}

/// The seconds that each resource is busy. Every resource occurs once.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Demands {
    each: Vec<(Resource, f64)>,
    /// The part of the request slots' time that is spent receiving at the rate of connections.
    connections: f64,
}

impl Demands {
    pub(crate) fn add(&mut self, resource: Resource, seconds: f64) {
        match self.each.iter_mut().find(|(known, _)| *known == resource) {
            Some((_, busy)) => *busy += seconds,
            None => self.each.push((resource, seconds)),
        }
    }

    /// Adds the time that request slots spend waiting, and the time that they spend receiving answers.
    pub(crate) fn add_slots(&mut self, waiting: f64, receiving: f64) {
        self.add(Resource::REQUEST_SLOTS, waiting + receiving);
        self.connections += receiving;
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        for (resource, seconds) in &other.each {
            self.add(*resource, *seconds);
        }
        self.connections += other.connections;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Resource, f64)> {
        self.each.iter().copied()
    }

    /// The resource that is busy longest. If the request slots are, the result is [`Resource::REQUEST_SLOTS`] or
    /// [`Resource::CONNECTION_RATE`].
    pub(crate) fn bound_by(&self) -> Resource {
        match self.longest() {
            (Resource::REQUEST_SLOTS, seconds) if 2.0 * self.connections > seconds => {
                Resource::CONNECTION_RATE
            }
            (resource, _) => resource,
        }
    }

    /// The resource that is busy longest, and its time; the first of several equal ones.
    pub(crate) fn longest(&self) -> (Resource, f64) {
        self.iter().fold(
            (Resource::LINK, 0.0),
            |longest, next| {
                if next.1 > longest.1 { next } else { longest }
            },
        )
    }

    /// The time of all resources together, if a fraction `overlap` (0 to 1) of the others' time overlaps the longest
    /// one's.
    ///
    /// The link and its connections carry the same bytes at the same time, so the shorter of these two times is
    /// always hidden. Cores shared by store and client do only the work of these two.
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
    fn slots_bind_by_what_they_spend_their_time_on() {
        let mut demands = Demands::default();
        demands.add(Resource::LINK, 4.0);
        demands.add_slots(3.0, 2.0);
        assert_eq!(demands.bound_by(), Resource::REQUEST_SLOTS);
        let mut more = Demands::default();
        more.add_slots(0.0, 2.0);
        demands.add_all(&more);
        assert_eq!(demands.bound_by(), Resource::CONNECTION_RATE);
        demands.add(Resource::LINK, 4.0);
        assert_eq!(demands.bound_by(), Resource::LINK);
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
