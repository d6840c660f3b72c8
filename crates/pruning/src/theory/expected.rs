//! The rows that an algorithm is expected to forward, if little is known about its input.

/// The known numbers about the rows that cross a switch. Unknown ones are assumed, and noted.
pub trait RowStatistics {
    /// Returns the number of rows.
    fn rows(&self) -> f64;

    /// Returns the number of workers that send them.
    fn workers(&self) -> f64;

    /// Returns the number of different keys.
    fn keys(&mut self) -> f64;

    /// Returns the fraction that passes the query's filter.
    fn passing(&mut self) -> f64;

    /// Assumes a fraction for which there is no theorem; `what` completes "so many of the rows …".
    fn assume(&mut self, what: &str) -> f64;

    /// Notes an assumption for the user.
    fn note(&mut self, what: &str);

    /// Returns the number of rows if each worker sends at most `most`.
    fn of_each(&self, most: f64) -> f64 {
        let each = (self.rows() / self.workers()).max(0.0);
        (most.min(each) * self.workers()).min(self.rows())
    }

    /// Returns a number of rows as a fraction of all.
    fn part(&self, some: f64) -> f64 {
        if self.rows() > 0.0 { some / self.rows() } else { 1.0 }
    }
}

/// The expected effect of a switch on the rows that cross it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PruningEstimate {
    /// The expected fraction that the switch forwards, by theorems where there are any.
    pub unpruned: f64,
    /// The number of rows that workers would send without a switch, after reducing them locally.
    pub reduced: f64,
    /// True if workers can reduce the rows locally.
    pub reduces: bool,
}
