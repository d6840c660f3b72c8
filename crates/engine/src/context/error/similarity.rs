//! Similar words, for hints about typing errors.

/// Returns whether two words differ by at most one letter that is wrong, missing or extra, or by two adjacent letters
/// in reverse order.
#[must_use]
pub fn are_similar(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let before = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[before..], &b[before..]);
    match (a, b) {
        ([], rest) | (rest, []) => rest.len() <= 1,
        ([a0, a1, rest @ ..], [b0, b1, other @ ..]) if a0 == b1 && a1 == b0 => rest == other,
        ([_, rest @ ..], [_, other @ ..]) => rest == other || rest == b || a == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_similar_if_one_letter_is_wrong() {
        for word in ["SELCT", "SELECTT", "SLEECT", "SELEKT", "ELECT", "SELECT"] {
            assert!(are_similar("SELECT", word) && are_similar(word, "SELECT"), "{word}");
        }
        for word in ["SLCT", "TABLE", "", "SELECTED", "TCELES"] {
            assert!(!are_similar("SELECT", word) && !are_similar(word, "SELECT"), "{word}");
        }
    }
}
