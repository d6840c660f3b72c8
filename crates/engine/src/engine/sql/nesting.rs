//! Limits the nesting of statements.
//!
//! DataFusion's parser stops at `datafusion.sql_parser.recursion_limit`. While it tries one of two ways to read a
//! CASE, a NOT or a CAST, it takes that for a syntax error. It then tries the other way at each level, which takes
//! exponential time. Levels are therefore counted before a statement is parsed. A sub-query in an expression counts
//! as three levels, because DataFusion visits nested ones twice as often with each level: twenty of them took ten
//! seconds. CAST, ARRAY[…], `a.b[…]` and INTERVAL count as three, because the parser reads them twice if there is an
//! error within them, and their content twice as often with each level.

use datafusion::common::Result;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::context::error::{ErrorKind, UserError};
use crate::engine::sql::TokenRole;

/// The levels that the parser uses for the statement itself, and for the operands of the innermost expression, which
/// may be in operators of every strength.
const OTHERS: usize = 10;

/// Refuses a statement that nests deeper than the parser's limit allows.
///
/// # Errors
///
/// If the statement nests too deeply.
pub(crate) fn check(sql: &str, limit: usize) -> Result<()> {
    let most = limit.saturating_sub(OTHERS);
    if openers(sql) <= most || levels(sql, most) <= most {
        return Ok(());
    }
    Err(too_deep(most).into())
}

/// The number of levels of an expression that the parser may read twice.
const READ_TWICE: usize = 3;

/// Returns the error for a statement at which the parser reached its limit.
pub(crate) fn parser_limit_error(limit: usize) -> UserError {
    too_deep(limit.saturating_sub(OTHERS))
}

fn too_deep(most: usize) -> UserError {
    UserError {
        kind: ErrorKind::Unsupported,
        message: format!(
            "the statement nests deeper than {most} levels: each parenthesis, CASE and NOT is one, and each operator \
             before it; a sub-query is two or three, and so are CAST and ARRAY[…]"
        ),
        hint: Some(
            "Name a part of it: WITH part AS (SELECT …) SELECT … FROM part, or CREATE VIEW. SET \
             datafusion.sql_parser.recursion_limit = 100 allows more levels."
                .to_owned(),
        ),
    }
}

/// Returns an upper bound of the levels, from a fast scan of the text.
fn openers(sql: &str) -> usize {
    /// The maximum levels of a parenthesis: operators of seven strengths may precede it, and a query may begin in it.
    const MOST: usize = 10;
    let signs = sql.bytes().map(|byte| match byte {
        b'(' | b'[' | b'{' => MOST,
        b'-' | b'+' | b'~' => 1,
        _ => 0,
    });
    let words = sql.as_bytes().windows(4).map(|four| match four {
        _ if four.eq_ignore_ascii_case(b"case") => MOST,
        _ if four.eq_ignore_ascii_case(b"inte") => READ_TWICE,
        _ if four[..3].eq_ignore_ascii_case(b"not") => 1,
        _ => 0,
    });
    signs.sum::<usize>() + words.sum::<usize>()
}

/// Keywords after which an operand follows, so that a `-` or `+` is its sign. Other words may be names.
const EXPECTING: [Keyword; 20] = [
    Keyword::ALL,
    Keyword::AND,
    Keyword::BETWEEN,
    Keyword::BY,
    Keyword::DISTINCT,
    Keyword::ELSE,
    Keyword::HAVING,
    Keyword::IN,
    Keyword::INTERVAL,
    Keyword::IS,
    Keyword::LIKE,
    Keyword::LIMIT,
    Keyword::NOT,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::OR,
    Keyword::SELECT,
    Keyword::THEN,
    Keyword::WHEN,
    Keyword::WHERE,
];

/// The open levels at a place in a statement.
#[derive(Debug, Default)]
struct Open {
    /// For each parenthesis and CASE, its levels (itself and the operators whose operand it is in), and these
    /// operators.
    around: Vec<(usize, Vec<Pending>)>,
    sum: usize,
    /// Operators whose right operand is not complete, each stronger than the one before.
    pending: Vec<Pending>,
}

/// An operator whose right operand is not complete.
#[derive(Debug, Clone, Copy)]
struct Pending {
    strength: usize,
    /// True if it has no left operand.
    is_prefix: bool,
}

/// NOT binds like AND, and a sign more strongly than any operator.
const NOT: Pending = Pending { strength: 2, is_prefix: true };
const SIGN: Pending = Pending { strength: 8, is_prefix: true };

impl Open {
    fn depth(&self) -> usize {
        self.sum + self.pending.iter().filter(|it| it.is_prefix).count()
    }

    fn open(&mut self) {
        let levels = self.pending.len() + 1;
        self.around.push((levels, std::mem::take(&mut self.pending)));
        self.sum += levels;
    }

    fn close(&mut self) {
        if let Some((levels, pending)) = self.around.pop() {
            self.sum -= levels;
            self.pending = pending;
        }
    }

    /// Adds levels to a parenthesis in which a query begins.
    fn add(&mut self, more: usize) {
        if let Some((levels, _)) = self.around.last_mut() {
            *levels += more;
            self.sum += more;
        }
    }

    fn operator(&mut self, strength: usize) {
        while self.pending.last().is_some_and(|last| last.strength >= strength) {
            self.pending.pop();
        }
        self.pending.push(Pending { strength, is_prefix: false });
    }
}

/// Returns the maximum number of open levels. Counting stops when it exceeds `most`.
fn levels(sql: &str, most: usize) -> usize {
    // The parser refuses text that cannot be split into tokens.
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, sql).tokenize() else { return 0 };
    let mut open = Open::default();
    let (mut deepest, mut after_operand, mut after_period) = (0, false, false);
    // The additional levels of a parenthesis if a query begins in it; none unless the last token opened one.
    let (mut of_query, mut names_table) = (None, false);
    let mut before = Before::default();
    for token in tokens.iter().filter(|token| !matches!(token, Token::Whitespace(_))) {
        let keyword = match token {
            // After a period, the word is the name of a column.
            Token::Word(word) if word.quote_style.is_none() && !after_period => word.keyword,
            _ => Keyword::NoKeyword,
        };
        let is_field = before.is_field;
        before.is_field = after_period;
        after_period = *token == Token::Period;
        let begins_query = matches!(keyword, Keyword::SELECT | Keyword::WITH | Keyword::FROM);
        if let (Some(more), true) = (of_query.take(), begins_query) {
            open.add(more);
        }
        let is_sign = matches!(token, Token::Minus | Token::Plus | Token::Tilde);
        match (token, TokenRole::from_token(token)) {
            _ if is_sign && !after_operand => open.pending.push(SIGN),
            _ if keyword == Keyword::NOT => open.pending.push(NOT),
            _ if keyword == Keyword::INTERVAL => open.pending.extend([SIGN; READ_TWICE]),
            _ if keyword == Keyword::CASE => open.open(),
            _ if keyword == Keyword::END => open.close(),
            (Token::LBrace, _) => open.open(),
            (Token::RBrace, _) | (_, TokenRole::Close) => open.close(),
            (_, TokenRole::Open) => {
                open.open();
                of_query = Some(if names_table { 1 } else { 2 });
                if before.is_read_twice(token, is_field) {
                    open.add(READ_TWICE - 1);
                }
            }
            (_, TokenRole::Next | TokenRole::Operator(0)) => open.pending.clear(),
            (_, TokenRole::Operator(strength)) => open.operator(strength),
            (_, TokenRole::Other) => {}
        }
        after_operand = match token {
            Token::Word(_) => keyword != Keyword::CASE && !EXPECTING.contains(&keyword),
            Token::Number(..) | Token::SingleQuotedString(_) => true,
            Token::RParen | Token::RBracket | Token::RBrace => true,
            _ => false,
        };
        names_table = matches!(
            keyword,
            Keyword::FROM
                | Keyword::JOIN
                | Keyword::LATERAL
                | Keyword::AS
                | Keyword::UNION
                | Keyword::ALL
        );
        before.keyword = keyword;
        deepest = deepest.max(open.depth());
        if deepest > most {
            break;
        }
    }
    deepest
}

/// The tokens before a parenthesis.
#[derive(Debug)]
struct Before {
    keyword: Keyword,
    /// True if the word follows a period.
    is_field: bool,
}

impl Default for Before {
    fn default() -> Self {
        Self { keyword: Keyword::NoKeyword, is_field: false }
    }
}

impl Before {
    /// Returns whether the parser may read the content of a parenthesis twice.
    fn is_read_twice(&self, opening: &Token, is_field: bool) -> bool {
        match opening {
            Token::LParen => matches!(self.keyword, Keyword::CAST | Keyword::TRY_CAST),
            Token::LBracket => is_field || self.keyword == Keyword::ARRAY,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counting stops at the limit; otherwise it would take quadratic time here.
    #[test]
    fn counting_ends_at_the_limit() {
        assert_eq!(levels(&"- ".repeat(200_000), 40), 41);
        assert!(check(&format!("select {}1", "- ".repeat(200_000)), 50).is_err());
    }

    #[test]
    fn what_is_open_at_one_place_is_counted() {
        for (sql, expected) in [
            ("select 1", 0),
            ("select (1), (2), [3]", 1),
            ("select abs((1))", 2),
            ("select not not not true and not false", 3),
            ("select - - 1 - 2 - 3 + -1", 2),
            (
                "select case when not (case when true then [1] end) then 1 end, case when 1 then 2 end",
                5,
            ),
            ("select a - (b - c), a is not null", 2),
            ("select '((((' -- ((((", 0),
            ("select )))) (1)", 1),
            ("select day - (name - (value - 1))", 4),
            ("select t.case, t.case, t.not", 0),
            ("select not f(not f(1)), {a: (1)}, t.*, (count(*))", 4),
            ("select 1 or 2 = 3 + (4 and (5))", 6),
            ("select (select (select 1))", 6),
            ("select * from (select * from (from t) a) b", 4),
            ("select 1 where not exists (select 1) and a in ((1), 2)", 4),
            ("with a as (select 1) select * from a, lateral (select 1)", 2),
            ("select cast(array[a.b[c[1]]] as int), try_cast(1 as int)", 10),
            ("select interval interval '1' day + interval '2' day", 6),
        ] {
            assert_eq!(levels(sql, usize::MAX), expected, "{sql}");
            assert!(openers(sql) >= expected, "{sql}");
        }
    }
}
