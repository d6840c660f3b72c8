//! Standard output that was closed when the process started (`>&-`).
//!
//! Rust's runtime opens /dev/null in its place before `main`, where answers would be lost without a word. So it
//! becomes, even before, what refuses to be written to.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether it was. Writing there then fails as to a full disk.
pub(crate) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "nothing safe looks before Rust's runtime does")]
mod at_start {
    use std::sync::atomic::Ordering;

    use super::WAS_CLOSED;

    // SAFETY: the C library calls what this section holds once, before `main`, and of its arguments none is read.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static AT_START: extern "C" fn() = look;

    extern "C" fn look() {
        // SAFETY: the calls take descriptors and a text that ends in zero, and no other thread runs yet that could
        // open or close one.
        unsafe {
            if libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) != -1 {
                return;
            }
            WAS_CLOSED.store(true, Ordering::Relaxed);
            let full = libc::open(c"/dev/full".as_ptr(), libc::O_WRONLY);
            if full != -1 && full != libc::STDOUT_FILENO {
                libc::dup2(full, libc::STDOUT_FILENO);
                libc::close(full);
            }
        }
    }
}
