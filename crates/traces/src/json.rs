//! Reads JSON that nests deeper than the 128 levels that serde_json accepts by default, as plans do.

use serde::Deserialize;

/// The deepest nesting that is read. A plan of 300 operators in a row has twice as many levels.
const MOST_LEVELS: usize = 600;

/// Rejects text that nests too deeply.
///
/// # Errors
///
/// If it nests deeper than 600 levels.
pub(crate) fn bound(text: &[u8]) -> Result<(), String> {
    let levels = levels(text);
    if levels > MOST_LEVELS {
        return Err(format!("nests {levels} levels deep, but at most {MOST_LEVELS} are read"));
    }
    Ok(())
}

/// Parses a value from text that [`bound`] accepts.
///
/// # Errors
///
/// If the text is not such a value.
pub(crate) fn deep<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// Returns the depth of nesting.
fn levels(text: &[u8]) -> usize {
    let (mut level, mut most, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                level += 1;
                most = most.max(level);
            }
            b'}' | b']' if !quoted => level = level.saturating_sub(1),
            _ => {}
        }
    }
    most
}
