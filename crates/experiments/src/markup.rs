//! HTML and SVG in which text cannot be mistaken for markup.

use std::fmt::{Display, Write};

/// A part of a page or picture. Only this program's string literals are markup; everything else is escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markup {
    text: String,
}

impl Markup {
    /// Appends markup without escaping it.
    pub fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.text.push_str(markup);
        self
    }

    /// Appends text from any source as content of an element or between the quotes of an attribute.
    pub fn text(&mut self, text: impl Display) -> &mut Self {
        for character in text.to_string().chars() {
            match character {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&quot;"),
                '\'' => self.text.push_str("&#39;"),
                '\n' | '\t' => self.text.push(character),
                // HTML cannot contain control characters, and direction marks could mislead readers.
                c if c.is_control() || is_direction(c) => self.text.push('\u{FFFD}'),
                c => self.text.push(c),
            }
        }
        self
    }

    /// Appends a number with at most two decimals, for a style or an attribute.
    pub fn number(&mut self, number: f64) -> &mut Self {
        let number = if number.is_finite() { number } else { 0.0 };
        let text = format!("{number:.2}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{}", if text == "-0" { "0" } else { text });
        self
    }

    /// Appends an attribute with a number.
    pub fn attribute(&mut self, name: &'static str, value: f64) -> &mut Self {
        self.raw(" ").raw(name).raw("=\"").number(value).raw("\"")
    }

    /// Appends other markup.
    pub fn append(&mut self, other: &Self) -> &mut Self {
        self.text.push_str(&other.text);
        self
    }

    /// Returns the markup so far.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the markup.
    #[must_use]
    pub fn into_string(self) -> String {
        self.text
    }
}

/// Returns true if a character changes the direction of the text around it.
fn is_direction(character: char) -> bool {
    matches!(character, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_markup() {
        let mut html = Markup::default();
        html.raw("<p title=\"").text("\"><script>alert('&')</script>\u{0}\u{202E}é\n").raw("\">");
        let expected = "<p title=\"&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;\
                        \u{FFFD}\u{FFFD}é\n\">";
        assert_eq!(html.as_str(), expected);
    }

    #[test]
    fn numbers_are_short() {
        let mut html = Markup::default();
        for number in [1.0, 2.5, 0.126, -0.001, f64::NAN, f64::INFINITY, 100.0] {
            html.number(number).raw(" ");
        }
        assert_eq!(html.as_str(), "1 2.5 0.13 0 0 0 100 ");
    }
}
