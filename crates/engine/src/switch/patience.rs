//! When workers stop asking a switch that prunes nothing.

/// While one packet in so many is pruned, the switch is worth asking.
const WORTH: u64 = 100;
/// Of a worker's batches that go past the program, so many follow each other.
const PASSED_BATCHES: u32 = 63;

/// What one worker knows of the switch's use: it acknowledges what it prunes (Cheetah, §7.2).
///
/// After `packets` of which fewer than 1 % were pruned, the worker sends past the program, which is
/// always right: pruning may forward too much. One batch in 64 still crosses; from the first that is
/// pruned again by 1 % on, all do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Patience {
    /// How many packets a worker waits for one to be pruned; 0: for ever.
    packets: u64,
    /// Packets that decide next.
    wanted: u64,
    sent: u64,
    pruned: u64,
    /// Batches to send past the program.
    passing: u32,
}

impl Patience {
    /// The patience of a worker that waits for so many packets, or, with 0, for ever.
    pub(crate) fn new(packets: u64) -> Self {
        Self { packets, wanted: packets, sent: 0, pruned: 0, passing: 0 }
    }

    /// Whether the next batch crosses the program.
    pub(crate) fn asks(&mut self) -> bool {
        let asks = self.passing == 0;
        self.passing = self.passing.saturating_sub(1);
        asks
    }

    /// Takes notice of what became of a batch that crossed.
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

    /// Which of `batches` of ten packets cross, of which so many are pruned if they do.
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
    fn one_that_does_not_is_asked_now_and_then() {
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
        // It prunes again, so all cross until it disappoints for another 20 packets.
        assert!(crossed[65] && crossed[66] && crossed[67] && !crossed[68]);
    }
}
