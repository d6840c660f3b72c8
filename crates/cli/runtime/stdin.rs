//! The end of stdin, which tells a server that the program that started it has ended.

use std::io;
use std::thread;

/// Waits until stdin ends.
pub(crate) async fn end_of_stdin() {
    let (ended, end) = tokio::sync::oneshot::channel();
    // A thread of its own, which ends with the process: a read of stdin cannot be stopped.
    thread::spawn(move || {
        drop(io::copy(&mut io::stdin(), &mut io::sink()));
        let _ = ended.send(());
    });
    drop(end.await);
}
