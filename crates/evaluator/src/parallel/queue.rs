//! A queue for the rows that a thread produces ahead of its turn, within a budget.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::budget::Budget;

/// The most messages, of at most 128 KiB each, that a thread may produce ahead of its turn. They hold the rows of a
/// part, even if these take a multiple of its bytes. With fewer, threads would wait for their turn and run one after
/// the other.
const MAX_MESSAGES: usize = 64;

/// A queue of messages from one thread to another.
///
/// A message that enters an empty queue takes nothing from the budget. The queue that is being received from
/// therefore never waits for the messages in other queues, which might wait for it. Other messages take their bytes
/// from the budget until they are received or the queue is closed. A message that finds no room waits until earlier
/// messages of this queue are received, at the latest until all are.
pub(super) struct Queue<'a, T> {
    budget: &'a Budget,
    state: Mutex<State<T>>,
    /// Signals a new message, new room, or the end of either side. Only one side can be waiting.
    changed: Condvar,
}

struct State<T> {
    /// The messages, with the bytes that each took from the budget.
    messages: VecDeque<(T, usize)>,
    /// The bytes that all messages took from the budget.
    taken: usize,
    /// True if nobody receives any more.
    is_closed: bool,
    /// True if nobody sends any more.
    is_ended: bool,
}

/// The sending end of a queue, of which there must be only one.
pub(super) struct Sender<'a, T>(&'a Queue<'a, T>);

impl<'a, T> Queue<'a, T> {
    pub(super) fn new(budget: &'a Budget) -> Self {
        let messages = VecDeque::new();
        let state = State { messages, taken: 0, is_closed: false, is_ended: false };
        Self { budget, state: Mutex::new(state), changed: Condvar::new() }
    }

    pub(super) fn sender(&'a self) -> Sender<'a, T> {
        Sender(self)
    }

    /// Waits for a message; returns `None` if there will be none.
    pub(super) fn receive(&self) -> Option<T> {
        let mut state = self.state();
        loop {
            if let Some((message, taken)) = state.messages.pop_front() {
                state.taken -= taken;
                drop(state);
                self.budget.give_back(taken);
                self.changed.notify_one();
                return Some(message);
            }
            if state.is_ended || state.is_closed {
                return None;
            }
            state = self.wait(state);
        }
    }

    /// Drops messages that were not received, and makes current and later sends return false.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let messages = std::mem::take(&mut state.messages);
        let taken = std::mem::take(&mut state.taken);
        drop(state);
        drop(messages);
        self.budget.give_back(taken);
        self.changed.notify_one();
    }

    // A poisoned lock is safe to use: no code that can panic runs while it is held.
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State<T>>) -> MutexGuard<'s, State<T>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for Queue<'_, T> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<T> Sender<'_, T> {
    /// Waits for room for a message of `bytes` bytes and sends it. Returns false if the queue is closed.
    pub(super) fn send(&self, message: T, bytes: usize) -> bool {
        let Self(queue) = self;
        let mut state = queue.state();
        let taken = loop {
            if state.is_closed {
                return false;
            }
            if state.messages.is_empty() || bytes == 0 && state.messages.len() < MAX_MESSAGES {
                break 0;
            }
            if state.messages.len() < MAX_MESSAGES && queue.budget.take(bytes, state.taken) {
                break bytes;
            }
            state = queue.wait(state);
        };
        state.taken += taken;
        state.messages.push_back((message, taken));
        drop(state);
        queue.changed.notify_one();
        true
    }

    /// Returns whether nobody receives any more.
    pub(super) fn is_closed(&self) -> bool {
        self.0.state().is_closed
    }
}

impl<T> Drop for Sender<'_, T> {
    fn drop(&mut self) {
        self.0.state().is_ended = true;
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_first_message_take_their_bytes_until_they_are_received() {
        let budget = Budget::new(100);
        let queue = Queue::new(&budget);
        let sender = queue.sender();
        assert!(sender.send('a', 1000) && sender.send('b', 7) && sender.send('c', 20));
        assert!(sender.send('d', 0));
        assert_eq!(budget.taken(), 27);
        for (message, left) in [('a', 27), ('b', 20), ('c', 0), ('d', 0)] {
            assert_eq!(queue.receive(), Some(message));
            assert_eq!(budget.taken(), left);
        }
        // The queue is empty again.
        assert!(sender.send('e', 1000) && sender.send('f', 50));
        drop(sender);
        assert_eq!((queue.receive(), budget.taken()), (Some('e'), 50));
        drop(queue);
        assert_eq!((budget.taken(), budget.peak()), (0, 50));
    }

    #[test]
    fn what_was_sent_is_received_before_the_end() {
        let budget = Budget::new(100);
        let queue = Queue::new(&budget);
        let sender = queue.sender();
        assert!(sender.send(1, 10) && sender.send(2, 10));
        drop(sender);
        assert_eq!([queue.receive(), queue.receive(), queue.receive()], [Some(1), Some(2), None]);
    }

    #[test]
    fn who_waits_for_room_goes_on_when_there_is_some_and_ends_when_nobody_receives() {
        for bytes in [0, 1, 60] {
            let budget = Budget::new(100);
            let queue = Queue::new(&budget);
            std::thread::scope(|scope| {
                let sender = queue.sender();
                let sends = scope.spawn(move || {
                    let sent = (0..).take_while(|n| sender.send(*n, bytes)).count();
                    (sent, sender.is_closed())
                });
                assert!((0..1000).all(|n| queue.receive() == Some(n)));
                queue.close();
                let (sent, is_closed) = sends.join().unwrap();
                assert!((1000..=1000 + MAX_MESSAGES).contains(&sent), "{sent}");
                assert!(is_closed);
            });
            assert_eq!(budget.taken(), 0);
            assert!(budget.peak() <= 50);
            assert_eq!(queue.receive(), None);
        }
    }
}
