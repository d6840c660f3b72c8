//! What a connection holds for its client, bounded in number and bytes.

use std::collections::VecDeque;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use tonic::Status;

/// The most bytes of a statement with its parameters, and of all that a connection holds of one kind.
pub(super) const HELD_BYTES: usize = 64 << 20;
/// The most things of one kind that a connection holds.
const COUNT: usize = 1024;
const HANDLE_BYTES: usize = 16;

/// Things by handle, in the order of their creation.
#[derive(Debug)]
pub(super) struct Bounded<T> {
    held: VecDeque<(String, usize, T)>,
    bytes: usize,
}

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        Self { held: VecDeque::new(), bytes: 0 }
    }
}

impl<T> Bounded<T> {
    /// Adds a thing. The oldest ones go if there are too many.
    pub(super) fn push(&mut self, handle: String, bytes: usize, thing: T) {
        self.bytes += bytes;
        self.held.push_back((handle, bytes, thing));
        while self.held.len() > 1 && !self.is_in_bounds() {
            if let Some((_, bytes, _)) = self.held.pop_front() {
                self.bytes -= bytes;
            }
        }
    }

    /// Returns true if another thing of so many bytes does not exceed the bounds.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.held.len() < COUNT && self.bytes.saturating_add(bytes) <= HELD_BYTES
    }

    pub(super) fn get(&self, handle: &str) -> Option<&T> {
        self.held.iter().find(|(held, ..)| held == handle).map(|(.., thing)| thing)
    }

    /// Replaces a thing. Returns false if there is none, or the new one is too large.
    pub(super) fn replace(&mut self, handle: &str, bytes: usize, thing: T) -> bool {
        let others = |held: usize, all: usize| all - held;
        let Some(entry) = self.held.iter_mut().find(|(held, ..)| held == handle) else {
            return false;
        };
        if others(entry.1, self.bytes).saturating_add(bytes) > HELD_BYTES {
            return false;
        }
        self.bytes = others(entry.1, self.bytes) + bytes;
        (entry.1, entry.2) = (bytes, thing);
        true
    }

    pub(super) fn take(&mut self, handle: &str) -> Option<T> {
        let index = self.held.iter().position(|(held, ..)| held == handle)?;
        let (_, bytes, thing) = self.held.remove(index)?;
        self.bytes -= bytes;
        Some(thing)
    }

    fn is_in_bounds(&self) -> bool {
        self.held.len() <= COUNT && self.bytes <= HELD_BYTES
    }
}

/// Returns a new handle. It is random, so that a client that has connected again does not meet another statement.
pub(super) fn handle() -> Result<String, Status> {
    Ok(URL_SAFE_NO_PAD.encode(random::<HANDLE_BYTES>()?))
}

/// Returns random bytes.
pub(super) fn random<const N: usize>() -> Result<[u8; N], Status> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Status::internal("the system returns no random numbers"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first() {
        let mut held = Bounded::default();
        for number in 0..COUNT {
            held.push(number.to_string(), 1, number);
        }
        assert!(!held.has_room(0));
        held.push("new".to_owned(), 1, 7);
        assert_eq!((held.get("0"), held.get("1"), held.get("new")), (None, Some(&1), Some(&7)));
        held.push("large".to_owned(), HELD_BYTES, 8);
        assert_eq!(held.get("new"), None);
        assert_eq!(held.take("large"), Some(8));
        assert!(held.has_room(HELD_BYTES) && !held.has_room(HELD_BYTES + 1));
    }

    #[test]
    fn bytes_are_counted_when_things_are_replaced() {
        let mut held = Bounded::default();
        held.push("a".to_owned(), 10, 1);
        assert!(held.replace("a", HELD_BYTES, 2) && !held.has_room(1));
        assert!(!held.replace("a", HELD_BYTES + 1, 3) && !held.replace("b", 1, 3));
        assert!(held.replace("a", 1, 4) && held.has_room(HELD_BYTES - 1));
        assert_eq!(held.take("a"), Some(4));
        assert_ne!(handle().unwrap(), handle().unwrap());
    }
}
