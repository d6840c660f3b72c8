//! A session's limit of memory within that of the whole engine.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::resources_datafusion_err;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation, human_readable_size,
};

/// The memory of a session: what it reserves counts toward its own limit and toward the engine's.
#[derive(Debug)]
pub(super) struct SessionMemory {
    engine: Arc<dyn MemoryPool>,
    limit: usize,
    used: AtomicUsize,
}

impl SessionMemory {
    pub(super) fn new(engine: Arc<dyn MemoryPool>, limit: usize) -> Self {
        Self { engine, limit, used: AtomicUsize::new(0) }
    }
}

impl MemoryPool for SessionMemory {
    fn name(&self) -> &'static str {
        "session"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.engine.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.engine.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.used.fetch_add(additional, Ordering::Relaxed);
        self.engine.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.engine.shrink(reservation, shrink);
        self.used.fetch_sub(shrink, Ordering::Relaxed);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let within = |used: usize| used.checked_add(additional).filter(|sum| *sum <= self.limit);
        let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
        self.used.try_update(set, get, within).map_err(|_| {
            resources_datafusion_err!(
                "Failed to allocate additional {} for {} with {} already allocated: {self}",
                human_readable_size(additional),
                reservation.consumer().name(),
                human_readable_size(reservation.size())
            )
        })?;
        self.engine.try_grow(reservation, additional).inspect_err(|_| {
            self.used.fetch_sub(additional, Ordering::Relaxed);
        })
    }

    fn reserved(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        match self.engine.memory_limit() {
            MemoryLimit::Finite(engine) => MemoryLimit::Finite(engine.min(self.limit)),
            _ => MemoryLimit::Finite(self.limit),
        }
    }
}

impl fmt::Display for SessionMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "session(used: {}, pool_size: {})",
            human_readable_size(self.reserved()),
            human_readable_size(self.limit)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::execution::memory_pool::GreedyMemoryPool;

    #[test]
    fn both_limits_hold_and_what_is_freed_can_be_used_again() {
        let engine: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(100));
        let session =
            || -> Arc<dyn MemoryPool> { Arc::new(SessionMemory::new(Arc::clone(&engine), 60)) };
        let (one, other) = (session(), session());
        let first = MemoryConsumer::new("first").register(&one);
        let second = MemoryConsumer::new("second").register(&other);
        first.try_grow(60).unwrap();
        let error = first.try_grow(1).unwrap_err().to_string();
        assert!(error.contains("session(used: 60.0 B, pool_size: 60.0 B)"), "{error}");
        second.try_grow(40).unwrap();
        let error = second.try_grow(1).unwrap_err().to_string();
        assert!(!error.contains("session("), "the engine's limit is reached: {error}");
        assert_eq!((one.reserved(), other.reserved(), engine.reserved()), (60, 40, 100));
        first.shrink(30);
        second.try_grow(20).unwrap();
        drop((first, second));
        assert_eq!((one.reserved(), other.reserved(), engine.reserved()), (0, 0, 0));
    }
}
