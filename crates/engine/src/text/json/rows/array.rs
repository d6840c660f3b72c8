//! Reads the elements of a JSON array one after the other. The brackets of the array and its commas become blanks, so
//! that line numbers stay the same.

use arrow::error::ArrowError;
use bytes::{Bytes, BytesMut};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArrayState {
    Before,
    Within,
    Behind,
}

/// The progress in a text that is one array.
pub(super) struct Elements {
    place: ArrayState,
    /// The number of open objects and arrays within the array.
    depth: usize,
    in_text: bool,
    is_escaped: bool,
}

impl Elements {
    /// Returns the elements of an array.
    pub(super) fn stream(
        text: BoxStream<'static, Result<Bytes>>,
    ) -> BoxStream<'static, Result<Bytes>> {
        let begin = Self { place: ArrayState::Before, depth: 0, in_text: false, is_escaped: false };
        stream::try_unfold(Some((begin, text)), |left| async {
            let Some((mut array, mut text)) = left else { return Ok(None) };
            match text.try_next().await? {
                Some(part) => {
                    let part = array.pass(&part).map_err(malformed)?;
                    Ok(Some((part, Some((array, text)))))
                }
                None => array.end().map_err(malformed).map(|()| None),
            }
        })
        .boxed()
    }

    fn pass(&mut self, bytes: &[u8]) -> std::result::Result<Bytes, &'static str> {
        let mut elements = BytesMut::from(bytes);
        for byte in elements.iter_mut() {
            match self.place {
                ArrayState::Before | ArrayState::Behind if byte.is_ascii_whitespace() => {}
                ArrayState::Before if *byte == b'[' => {
                    self.place = ArrayState::Within;
                    *byte = b' ';
                }
                ArrayState::Before => return Err("unexpected leading content before '['"),
                ArrayState::Behind => return Err("unexpected trailing content after ']'"),
                ArrayState::Within if self.in_text => match *byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.in_text = false,
                    _ => {}
                },
                ArrayState::Within => match *byte {
                    b'"' => self.in_text = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' if self.depth > 0 => self.depth -= 1,
                    b']' => {
                        self.place = ArrayState::Behind;
                        *byte = b' ';
                    }
                    b',' if self.depth == 0 => *byte = b' ',
                    _ => {}
                },
            }
        }
        Ok(elements.freeze())
    }

    fn end(&self) -> std::result::Result<(), &'static str> {
        match self.place {
            ArrayState::Behind => Ok(()),
            _ if self.in_text => Err("an array with a text that does not end"),
            _ => Err("an array without its closing bracket ']'"),
        }
    }
}

fn malformed(why: &'static str) -> DataFusionError {
    ArrowError::JsonError(format!("malformed JSON: {why}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(text: &str, piece: usize) -> std::result::Result<String, &'static str> {
        let mut array =
            Elements { place: ArrayState::Before, depth: 0, in_text: false, is_escaped: false };
        let mut all = Vec::new();
        for part in text.as_bytes().chunks(piece) {
            all.extend_from_slice(&array.pass(part)?);
        }
        array.end()?;
        Ok(String::from_utf8(all).unwrap())
    }

    #[test]
    fn only_what_is_around_the_elements_is_blank() {
        let text = "\n[{\"a\":[1,2]},\n {\"b\":\"],[\\\"\"}]\n";
        let expected = "\n {\"a\":[1,2]} \n {\"b\":\"],[\\\"\"} \n";
        for piece in 1..=text.len() {
            assert_eq!(elements(text, piece).unwrap(), expected, "{piece}");
        }
        assert_eq!(elements("[]", 9).unwrap(), "  ");
    }

    #[test]
    fn what_is_no_array_is_refused() {
        for (text, why) in [
            ("{}[]", "leading"),
            ("[1] 2", "trailing"),
            ("[{\"a\":1}", "closing"),
            ("[\"a]", "does not end"),
            ("", "closing"),
        ] {
            assert!(elements(text, 3).unwrap_err().contains(why), "{text}");
        }
    }
}
