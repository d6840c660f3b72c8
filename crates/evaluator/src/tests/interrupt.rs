//! Stopping from outside.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::Interrupt;

/// Evaluates until it was asked for the n-th time whether to go on; returns the result, and how often it
/// was asked.
fn interrupted(threads: usize, n: usize) -> (Result<Stats, SelectError>, usize) {
    // Different conditions over a single batch of rows.
    let terms: Vec<_> = (0..100).map(|n| format!("CAST(_1 AS INT) + {n} = -1")).collect();
    let sql = format!("SELECT COUNT(*) FROM S3Object WHERE {}", terms.join(" OR "));
    let rows = Arc::new("1\n".repeat(1000).into_bytes());
    let asked = Arc::new(AtomicUsize::new(0));
    let evaluation = Evaluation::prepare(&request(&sql), rows).unwrap();
    let asked_by = Arc::clone(&asked);
    let interrupt = Interrupt::new(move || asked_by.fetch_add(1, Ordering::Relaxed) + 1 >= n);
    let evaluation = evaluation.with_part_bytes(500).with_interrupt(interrupt);
    let result = evaluation.run_on(threads, &mut Answer::default());
    (result, asked.load(Ordering::Relaxed))
}

#[test]
fn an_evaluation_stops_amid_a_batch() {
    let (done, asked) = interrupted(1, usize::MAX);
    assert!(done.is_ok());
    // For every operator of the batch.
    assert!(asked >= 300, "{asked}");
    for n in [1, 2, 50, 299] {
        let (stopped, asked) = interrupted(1, n);
        assert_eq!(stopped.unwrap_err().code, SelectErrorCode::InternalError);
        // It looks which row is at fault, if any.
        assert!(asked <= n + 2, "{asked} after {n}");
    }
}

#[test]
fn all_threads_of_an_evaluation_stop() {
    assert!(interrupted(3, usize::MAX).0.is_ok());
    for n in [1, 50, 299] {
        let (stopped, asked) = interrupted(3, n);
        assert_eq!(stopped.unwrap_err().code, SelectErrorCode::InternalError);
        assert!(asked <= n + 20, "{asked} after {n}");
    }
}
