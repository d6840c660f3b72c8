//! The CPU time of this process.

use std::time::Duration;

/// Returns the CPU time of all threads of this process so far; `None` where the system does not report it.
#[cfg(unix)]
pub(crate) fn process_time() -> Option<Duration> {
    use nix::time::{ClockId, clock_gettime};

    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).ok().map(Duration::from)
}

#[cfg(not(unix))]
pub(crate) fn process_time() -> Option<Duration> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn work_takes_cpu_time_and_never_less_than_before() {
        let before = process_time().unwrap();
        let mut last = before;
        while last == before {
            let now = process_time().unwrap();
            assert!(now >= last);
            last = now;
        }
    }
}
