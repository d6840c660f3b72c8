//! A queue of events, ordered by time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Events in the order of their times. Events of the same time keep the order in which they were scheduled.
#[derive(Debug)]
pub(super) struct Events<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    scheduled: u64,
    now: f64,
}

#[derive(Debug)]
struct Entry<T> {
    time: f64,
    order: u64,
    event: T,
}

impl<T> Events<T> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), scheduled: 0, now: 0.0 }
    }

    /// Seconds since the start.
    pub(super) fn now(&self) -> f64 {
        self.now
    }

    /// Schedules an event in this many seconds; 0 means at once.
    pub(super) fn after(&mut self, seconds: f64, event: T) {
        self.scheduled += 1;
        let time = self.now + seconds.max(0.0);
        self.heap.push(Reverse(Entry { time, order: self.scheduled, event }));
    }

    /// Removes the next event and advances the clock to its time.
    pub(super) fn next(&mut self) -> Option<T> {
        let Reverse(entry) = self.heap.pop()?;
        self.now = entry.time;
        Some(entry.event)
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.time.total_cmp(&other.time).then(self.order.cmp(&other.order))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_in_order() {
        let mut events = Events::new();
        for (seconds, event) in [(2.0, 'c'), (1.0, 'a'), (1.0, 'b'), (-1.0, '0')] {
            events.after(seconds, event);
        }
        let mut seen = String::new();
        while let Some(event) = events.next() {
            seen.push(event);
            if event == 'a' {
                events.after(0.5, 'x');
            }
        }
        assert_eq!((seen.as_str(), events.now()), ("0abxc", 2.0));
    }
}
