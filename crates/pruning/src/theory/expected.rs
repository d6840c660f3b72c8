//! What an algorithm is expected to let through, of rows of which little is known.

/// What is known of the rows that cross a switch. What is not is assumed, and noted.
pub trait Known {
    /// How many.
    fn rows(&self) -> f64;

    /// How many workers send them.
    fn workers(&self) -> f64;

    /// Different keys.
    fn keys(&mut self) -> f64;

    /// The part that passes the query's filter.
    fn passing(&mut self) -> f64;

    /// A part for which there is no theorem; `what` completes "so many of the rows …".
    fn assume(&mut self, what: &str) -> f64;

    /// Notes an assumption.
    fn note(&mut self, what: &str);

    /// Rows where each worker keeps at most so many.
    fn of_each(&self, most: f64) -> f64 {
        let each = (self.rows() / self.workers()).max(0.0);
        (most.min(each) * self.workers()).min(self.rows())
    }

    /// A number of rows as a part of all.
    fn part(&self, some: f64) -> f64 {
        if self.rows() > 0.0 { some / self.rows() } else { 1.0 }
    }
}

/// What is expected of rows that cross a switch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// The part that is let through, in expectation; by theorems where there are any.
    pub unpruned: f64,
    /// Rows that workers would send without a switch, having done what they can.
    pub reduced: f64,
    /// Whether workers could do anything without a switch.
    pub reduces: bool,
}
