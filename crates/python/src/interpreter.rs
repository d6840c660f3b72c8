//! What needs the C interfaces of Python and Arrow.
//!
//! `unsafe` is needed here: both interfaces are pointers.
#![expect(unsafe_code, reason = "the C interfaces of Python and Arrow are pointers")]

use std::ffi::CStr;

use arrow::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::of_arrow;

/// The name of capsules with a stream, as in Arrow's PyCapsule interface.
pub(crate) const STREAM: &CStr = c"arrow_array_stream";
/// The name of capsules with a schema.
pub(crate) const SCHEMA: &CStr = c"arrow_schema";

/// Returns true if this thread belongs to Python: it is attached to the interpreter, or it can wait for that without
/// harm. A thread of a native library is not: Python may wait for such a thread while attached.
pub(crate) fn is_python_thread() -> bool {
    // SAFETY: the function may be called at any time by any thread. It reads a variable of the thread.
    !unsafe { ffi::PyGILState_GetThisThreadState() }.is_null()
}

/// Makes Python handle a Ctrl-C as soon as its interpreter runs the main thread again.
pub(crate) fn interrupt_again(_py: Python<'_>) {
    // SAFETY: the function only sets a flag.
    unsafe { ffi::PyErr_SetInterrupt() };
}

/// Takes the stream out of a capsule, which is empty afterwards.
///
/// # Errors
///
/// If the capsule has no stream, or its stream was taken before.
pub(crate) fn take_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<ArrowArrayStreamReader> {
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name has a stream of Arrow's C interface, by Arrow's PyCapsule interface. It is valid
    // as long as the capsule, and only this thread, which is attached, uses it.
    let reader = unsafe { ArrowArrayStreamReader::from_raw(stream.as_ptr()) };
    reader.map_err(|error| of_arrow(&error))
}
