//! Bypass of a switch that prunes nothing.

/// The switch is worthwhile while it prunes at least one packet in this many.
const WORTH: u64 = 100;
/// Number of a worker's batches that bypass the program before one crosses it again.
const PASSED_BATCHES: u32 = 63;

/// Counts the packets of a worker that the switch pruned. The switch acknowledges them (Cheetah, §7.2).
///
/// If fewer than 1 % of `packets` packets were pruned, the worker bypasses the program. The answer stays right,
/// because a switch may always forward too much. One batch in 64 still crosses; once at least 1 % of such a batch is
/// pruned, all batches cross again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BypassPolicy {
    /// Number of packets after which the worker decides; 0 means never.
    packets: u64,
    /// Number of packets before the next decision.
    wanted: u64,
    sent: u64,
    pruned: u64,
    /// Number of coming batches that bypass the program.
    passing: u32,
}

impl BypassPolicy {
    /// Returns the state of a worker that decides after this many packets; 0 means never.
    pub(crate) fn new(packets: u64) -> Self {
        Self { packets, wanted: packets, sent: 0, pruned: 0, passing: 0 }
    }

    /// Returns true if the next batch crosses the program.
    pub(crate) fn should_probe(&mut self) -> bool {
        let asks = self.passing == 0;
        self.passing = self.passing.saturating_sub(1);
        asks
    }

    /// Counts a batch that crossed.
    pub(crate) fn learn(&mut self, sent: usize, pruned: usize) {
        self.sent += sent as u64;
        self.pruned += pruned as u64;
        if self.packets == 0 || self.sent < self.wanted {
            return;
        }
        let worth = self.pruned.saturating_mul(WORTH) >= self.sent;
        self.passing = if worth { 0 } else { PASSED_BATCHES };
        self.wanted = if worth { self.packets } else { 1 };
        (self.sent, self.pruned) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns which batches of ten packets cross. `batches` holds the number of packets of each batch that are
    /// pruned if it crosses.
    fn crossing(packets: u64, batches: &[usize]) -> Vec<bool> {
        let mut patience = BypassPolicy::new(packets);
        let mut crosses = |pruned: &usize| {
            let asks = patience.should_probe();
            if asks {
                patience.learn(10, *pruned);
            }
            asks
        };
        batches.iter().map(&mut crosses).collect()
    }

    #[test]
    fn a_switch_that_prunes_is_asked() {
        assert_eq!(crossing(100, &[1; 200]), [true; 200]);
        assert_eq!(crossing(100, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1].repeat(20)), [true; 200]);
        assert_eq!(crossing(0, &[0; 200]), [true; 200]);
    }

    #[test]
    fn one_that_does_not_is_mostly_bypassed() {
        let crossed = crossing(100, &[0; 266]);
        assert_eq!(crossed[..10], [true; 10]);
        let again: Vec<usize> = (10..266).filter(|at| crossed[*at]).collect();
        assert_eq!(again, [73, 137, 201, 265]);
    }

    #[test]
    fn it_gets_another_chance() {
        let mut batches = [0; 80];
        let crossed = crossing(20, &batches);
        assert_eq!(crossed[..2], [true; 2]);
        assert!(!crossed[2] && crossed[65] && !crossed[66]);
        batches[65] = 5;
        let crossed = crossing(20, &batches);
        // It prunes again, so all cross until none of another 20 packets is pruned.
        assert!(crossed[65] && crossed[66] && crossed[67] && !crossed[68]);
    }
}
