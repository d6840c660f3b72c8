//! When workers bypass a switch that prunes nothing.

/// While one packet in so many is pruned, the switch is worthwhile.
const WORTH: u64 = 100;
/// How many batches of a worker bypass the program before one crosses it again.
const PASSED_BATCHES: u32 = 63;

/// How much a worker has seen the switch prune: the switch acknowledges it (Cheetah, §7.2).
///
/// After `packets` of which fewer than 1 % were pruned, the worker bypasses the program, which is
/// always right: pruning may forward too much. One batch in 64 still crosses; once at least 1 % of
/// such a batch is pruned, all do again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Patience {
    /// After how many packets the worker decides; 0: never.
    packets: u64,
    /// After how many packets it decides next.
    wanted: u64,
    sent: u64,
    pruned: u64,
    /// How many of the next batches bypass the program.
    passing: u32,
}

impl Patience {
    /// The patience of a worker that decides after so many packets; 0: never.
    pub(crate) fn new(packets: u64) -> Self {
        Self { packets, wanted: packets, sent: 0, pruned: 0, passing: 0 }
    }

    /// Whether the next batch crosses the program.
    pub(crate) fn asks(&mut self) -> bool {
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

    /// Which batches of ten packets cross. `batches` says how many packets of each are pruned if it
    /// crosses.
    fn crossing(packets: u64, batches: &[usize]) -> Vec<bool> {
        let mut patience = Patience::new(packets);
        let mut crosses = |pruned: &usize| {
            let asks = patience.asks();
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
        // It prunes again, so all cross until it has pruned none of another 20 packets.
        assert!(crossed[65] && crossed[66] && crossed[67] && !crossed[68]);
    }
}
