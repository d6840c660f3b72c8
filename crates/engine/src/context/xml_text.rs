//! Text of XML documents.

use std::borrow::Cow;

/// Text with XML's references replaced.
pub(crate) fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let reference = after.split_once(';').and_then(|(name, after)| {
            let character = match name {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                "apos" => '\'',
                _ => {
                    let number = name.strip_prefix('#')?;
                    let code = match number.strip_prefix(['x', 'X']) {
                        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                        None => number.parse().ok()?,
                    };
                    char::from_u32(code)?
                }
            };
            Some((character, after))
        });
        rest = match reference {
            Some((character, after)) => {
                plain.push(character);
                after
            }
            None => {
                plain.push('&');
                after
            }
        };
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}
