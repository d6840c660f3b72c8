//! The width of text, and its lines.
//!
//! A page uses the reader's own font, so widths are those of a wide one.

use crate::wording::bound;

/// Returns about the width of a text in a font of this size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    size * text.chars().map(em).sum::<f64>()
}

/// The width of a character in a wide sans-serif font, in ems.
fn em(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.34,
        ' ' | '\u{a0}' | 'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' | 'I' => 0.42,
        '⁰' | '¹' | '²' | '³' | '⁴'..='⁹' | '⁻' => 0.45,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '→' | '…' => 0.98,
        'A'..='Z' | '×' | '−' | '+' | '=' | '<' | '>' | '≤' | '≥' => 0.76,
        '0'..='9' | 'a'..='z' | '$' | '_' => 0.63,
        c if (c as u32) < 0x1100 => 0.70,
        _ => 1.0,
    }
}

/// The signs within a word behind which a line may end.
const SIGNS: [char; 6] = ['-', '/', ',', '_', '(', ':'];

/// Returns the lines of a text, each at most this wide.
pub(super) fn wrap(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    // A number stays on a line with its unit.
    let text = bound(text);
    for word in text.split([' ', '\n']).filter(|word| !word.is_empty()) {
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if width(&longer, size) <= most {
            line = longer;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        // A word that is too long is broken behind a sign, or else anywhere.
        for character in word.chars() {
            if !line.is_empty() && width(&line, size) + width(&character.to_string(), size) > most {
                let behind = line.rfind(SIGNS).map_or(line.len(), |at| at + 1);
                let rest = line.split_off(behind);
                lines.push(std::mem::replace(&mut line, rest));
            }
            line.push(character);
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Returns the width of the widest of these texts.
pub(super) fn widest<'a>(texts: impl IntoIterator<Item = &'a str>, size: f64) -> f64 {
    texts.into_iter().map(|text| width(text, size)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_no_wider_than_asked_for() {
        let text = "server-side filtering of Donaudampfschifffahrtsgesellschaft rows";
        let lines = wrap(text, 12.0, 100.0);
        assert!(lines.len() > 3 && lines.iter().all(|line| width(line, 12.0) <= 100.0));
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        assert_eq!(wrap("", 12.0, 100.0), [""]);
        assert_eq!(wrap("P19, modelled: 1.38 s", 12.0, 110.0), ["P19, modelled:", "1.38\u{a0}s"]);
        assert_eq!(wrap("a b", 12.0, 100.0), ["a b"]);
        assert_eq!(wrap("top-n-deterministic", 12.0, 115.0), ["top-n-", "deterministic"]);
        let program = wrap("top_n_randomized(rows=4096,columns=4)", 12.0, 140.0);
        assert_eq!(program, ["top_n_randomized(", "rows=4096,", "columns=4)"]);
    }
}
