//! Encodings of text other than UTF-8, decoded piece by piece.

use std::fmt;

/// The encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Encoding {
    #[default]
    Utf8,
    /// ISO 8859-1: each byte is the character of its number.
    Latin1,
    /// Latin-1 with other characters from 0x80 to 0x9F.
    Windows1252,
    /// UTF-16, little-endian unless a byte order mark differs.
    Utf16,
    /// UTF-16, big-endian unless a byte order mark differs.
    Utf16Be,
}

/// The names of the encodings, the usual one of each first.
const NAMES: [(&[&str], Encoding); 5] = [
    (&["utf-8", "utf8"], Encoding::Utf8),
    (&["latin-1", "latin1", "iso-8859-1", "iso8859-1", "iso_8859_1", "l1"], Encoding::Latin1),
    (&["windows-1252", "cp1252", "win-1252", "windows1252"], Encoding::Windows1252),
    (&["utf-16", "utf16", "utf-16le", "utf16le"], Encoding::Utf16),
    (&["utf-16be", "utf16be"], Encoding::Utf16Be),
];

/// The characters of 0x80 to 0x9F in Windows-1252. The codes that it does not define are controls, as in Latin-1.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

impl Encoding {
    /// Returns the encoding with a name, or `None` if the name is unknown.
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        let known = NAMES.iter().find(|(names, _)| names.contains(&name.as_str()));
        known.map(|(_, encoding)| *encoding)
    }

    /// Returns the usual names, for messages.
    pub(crate) fn names() -> String {
        NAMES.map(|(names, _)| names[0]).join(", ")
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, encoding)| encoding == self);
        f.write_str(name.map_or("", |(names, _)| names[0]))
    }
}

/// The error for bytes that are not text of the encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotInEncoding(pub(crate) Encoding);

/// A text that is decoded while it arrives.
#[derive(Debug, Clone)]
pub(crate) struct Decoder {
    encoding: Encoding,
    /// True before the first bytes, which may be a byte order mark.
    is_at_start: bool,
    /// The bytes of an incomplete character.
    rest: Vec<u8>,
}

impl Decoder {
    /// Starts at the beginning of a text.
    pub(crate) fn new(encoding: Encoding) -> Self {
        Self { encoding, is_at_start: true, rest: Vec::new() }
    }

    /// Decodes the next bytes to UTF-8.
    ///
    /// # Errors
    ///
    /// If they are not of the encoding.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> Result<Vec<u8>, NotInEncoding> {
        let by_character = |character: fn(u8) -> char| {
            bytes.iter().map(|byte| character(*byte)).collect::<String>().into_bytes()
        };
        match self.encoding {
            Encoding::Utf8 => Ok(bytes.to_vec()),
            Encoding::Latin1 => Ok(by_character(char::from)),
            Encoding::Windows1252 => Ok(by_character(windows)),
            Encoding::Utf16 | Encoding::Utf16Be => self.pass_units(bytes),
        }
    }

    /// Ends the text.
    ///
    /// # Errors
    ///
    /// If the last character is incomplete.
    pub(crate) fn end(&self) -> Result<(), NotInEncoding> {
        if self.rest.is_empty() { Ok(()) } else { Err(NotInEncoding(self.encoding)) }
    }

    fn pass_units(&mut self, bytes: &[u8]) -> Result<Vec<u8>, NotInEncoding> {
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        if self.is_at_start && all.len() >= 2 {
            self.is_at_start = false;
            match [all[0], all[1]] {
                [0xff, 0xfe] => self.encoding = Encoding::Utf16,
                [0xfe, 0xff] => self.encoding = Encoding::Utf16Be,
                _ => {}
            }
        }
        let unit = |pair: &[u8]| match self.encoding {
            Encoding::Utf16Be => u16::from_be_bytes([pair[0], pair[1]]),
            _ => u16::from_le_bytes([pair[0], pair[1]]),
        };
        let mut whole = all.len() / 2 * 2;
        // The second half of a character may be in the next piece.
        if whole >= 2 && (0xd800..0xdc00).contains(&unit(&all[whole - 2..whole])) {
            whole -= 2;
        }
        let mut text = String::with_capacity(whole);
        for character in char::decode_utf16(all[..whole].chunks_exact(2).map(unit)) {
            match character {
                // The byte order mark.
                Ok('\u{feff}') => {}
                Ok(character) => text.push(character),
                Err(_) => return Err(NotInEncoding(self.encoding)),
            }
        }
        self.rest = all.split_off(whole);
        Ok(text.into_bytes())
    }
}

fn windows(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
        other => char::from(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(encoding: Encoding, bytes: &[u8], expected: Option<&str>) {
        // In pieces of all lengths.
        for length in 1..=bytes.len() {
            let mut decoder = Decoder::new(encoding);
            let mut text = Vec::new();
            let decoded = bytes.chunks(length).try_for_each(|piece| {
                text.extend(decoder.pass(piece)?);
                Ok(())
            });
            let decoded = decoded.and_then(|()| decoder.end());
            assert_eq!(
                decoded.ok().map(|()| String::from_utf8(text).unwrap()).as_deref(),
                expected
            );
        }
    }

    #[test]
    fn text_of_other_encodings_becomes_utf_8() {
        check(Encoding::Latin1, b"caf\xe9;\x80", Some("café;\u{80}"));
        check(Encoding::Windows1252, b"5 \x80\x9f \x93x\x94", Some("5 €Ÿ “x”"));
        let units = |text: &str, to: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(to).collect()
        };
        let text = "aé€😀,\n";
        check(Encoding::Utf16, &units(text, u16::to_le_bytes), Some(text));
        check(Encoding::Utf16Be, &units(text, u16::to_be_bytes), Some(text));
        let marked = format!("\u{feff}{text}");
        check(Encoding::Utf16, &units(&marked, u16::to_be_bytes), Some(text));
        check(Encoding::Utf16Be, &units(&marked, u16::to_le_bytes), Some(text));
        check(Encoding::Utf16, b"a\0b", None);
        check(Encoding::Utf16, b"\x00\xd8a\0", None);
    }

    #[test]
    fn encodings_have_names() {
        for (name, encoding) in [
            ("UTF8", Some(Encoding::Utf8)),
            ("latin-1", Some(Encoding::Latin1)),
            ("ISO-8859-1", Some(Encoding::Latin1)),
            ("cp1252", Some(Encoding::Windows1252)),
            ("utf-16", Some(Encoding::Utf16)),
            ("ebcdic", None),
        ] {
            assert_eq!(Encoding::by_name(name), encoding, "{name}");
        }
        for (names, encoding) in NAMES {
            assert_eq!(Encoding::by_name(&encoding.to_string()), Some(encoding));
            assert_eq!(encoding.to_string(), names[0]);
        }
    }
}
