//! Statements that the protocol itself answers.

use crate::error::{SqlError, state};
use crate::lex::{Token, TokenKind, words};
use crate::server::copy::CopyOptions;
use crate::server::settings;

/// A statement, as far as the protocol is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Local {
    /// A statement for the engine.
    Engine,
    /// `BEGIN` and `START TRANSACTION`.
    Begin,
    /// `COMMIT` and `END`.
    Commit,
    /// `ROLLBACK` and `ABORT`.
    Rollback,
    Savepoint(String),
    Release(String),
    RollbackTo(String),
    /// `SET`: the name, the value unless it is the default, and whether it ends with the transaction.
    Set(String, Option<String>, bool),
    /// `SHOW`.
    Show(String),
    /// `SHOW ALL`.
    ShowAll,
    /// `RESET ALL`.
    ResetAll,
    Discard,
    /// `DEALLOCATE`; `None` means all.
    Deallocate(Option<String>),
    /// `DECLARE`: the cursor, its query, and whether it outlives its transaction.
    Declare(String, String, bool),
    /// `FETCH` and `MOVE`: the cursor, the number of rows (`None` means all), and whether the rows are sent.
    Fetch(String, Option<usize>, bool),
    /// `CLOSE`; `None` means all.
    Close(Option<String>),
    /// `COPY … TO STDOUT`: a query and its options.
    CopyOut(String, CopyOptions),
    /// A statement that has no effect here, with its tag.
    Nothing(&'static str),
}

/// Recognises a statement.
///
/// # Errors
///
/// If the statement is one of these, and is incomplete or not supported.
pub(crate) fn recognise(sql: &str) -> Result<Local, SqlError> {
    let mut tokens = words(sql);
    let Some(first) = tokens.next().filter(|token| token.kind == TokenKind::Word) else {
        return Ok(Local::Engine);
    };
    let verb = first.text.to_ascii_uppercase();
    // Most statements are queries.
    if matches!(
        verb.as_str(),
        "SELECT" | "WITH" | "INSERT" | "CREATE" | "EXPLAIN" | "FROM" | "VALUES"
    ) {
        return Ok(Local::Engine);
    }
    let rest: Vec<Token<'_>> = tokens.collect();
    let is = |index: usize, word: &str| rest.get(index).is_some_and(|token| token.is(word));
    let name = |index: usize| {
        let token = rest.get(index).ok_or_else(|| syntax(&format!("{verb} lacks a name")))?;
        match token.kind {
            TokenKind::Word | TokenKind::QuotedName => Ok(token.unquoted()),
            _ => Err(syntax(&format!("{verb} expects a name, not `{}`", token.text))),
        }
    };
    // `WORK` and `TRANSACTION` are noise.
    let noise = usize::from(is(0, "WORK") || is(0, "TRANSACTION"));
    Ok(match verb.as_str() {
        "BEGIN" => Local::Begin,
        "START" if is(0, "TRANSACTION") => Local::Begin,
        "COMMIT" | "END" if is(noise, "PREPARED") => return Err(two_phase()),
        "COMMIT" | "END" => Local::Commit,
        "PREPARE" if is(0, "TRANSACTION") => return Err(two_phase()),
        "ROLLBACK" | "ABORT" if is(noise, "PREPARED") => return Err(two_phase()),
        "ROLLBACK" if is(noise, "TO") => {
            Local::RollbackTo(name(noise + 1 + usize::from(is(noise + 1, "SAVEPOINT")))?)
        }
        "ROLLBACK" | "ABORT" => Local::Rollback,
        "SAVEPOINT" => Local::Savepoint(name(0)?),
        "RELEASE" => Local::Release(name(usize::from(is(0, "SAVEPOINT")))?),
        "SET" => set(sql, &rest)?,
        "RESET" if is(0, "ALL") => Local::ResetAll,
        "RESET" => {
            let name = joined(&rest, 0);
            match settings::is_known(&name) || !name.contains('.') {
                true => Local::Set(name, None, false),
                false => Local::Engine,
            }
        }
        "SHOW" if is(0, "ALL") && rest.len() == 1 => Local::ShowAll,
        "SHOW" => match joined(&rest, 0) {
            name if settings::is_known(&name) => Local::Show(name),
            _ => Local::Engine,
        },
        "DISCARD" => Local::Discard,
        "DEALLOCATE" => {
            let at = usize::from(is(0, "PREPARE"));
            Local::Deallocate((!is(at, "ALL")).then(|| name(at)).transpose()?)
        }
        "DECLARE" => declare(sql, &rest, name(0)?)?,
        "FETCH" | "MOVE" => fetch(&rest, verb == "FETCH")?,
        "CLOSE" => Local::Close((!is(0, "ALL")).then(|| name(0)).transpose()?),
        "COPY" => copy(sql, &rest)?,
        "LISTEN" => return Err(unsupported("LISTEN", "There are no notifications.")),
        "UNLISTEN" => Local::Nothing("UNLISTEN"),
        "NOTIFY" => return Err(unsupported("NOTIFY", "There are no notifications.")),
        "LOCK" => Local::Nothing("LOCK TABLE"),
        _ => Local::Engine,
    })
}

fn syntax(message: &str) -> SqlError {
    SqlError::new(state::SYNTAX_ERROR, message)
}

fn unsupported(what: &str, hint: &str) -> SqlError {
    SqlError::new(state::FEATURE_NOT_SUPPORTED, format!("{what} is not supported")).with_hint(hint)
}

fn two_phase() -> SqlError {
    unsupported("a prepared transaction", "Use COMMIT or ROLLBACK.")
}

/// Joins a name of several tokens, such as `sluice.scan` and `TIME ZONE`.
fn joined(tokens: &[Token<'_>], from: usize) -> String {
    let mut name = String::new();
    let mut last_word = false;
    for token in tokens.iter().skip(from) {
        let is_word = matches!(token.kind, TokenKind::Word | TokenKind::QuotedName);
        if last_word && is_word {
            name.push(' ');
        }
        name += &token.unquoted();
        last_word = is_word;
    }
    name
}

fn set(sql: &str, rest: &[Token<'_>]) -> Result<Local, SqlError> {
    let is = |index: usize, word: &str| rest.get(index).is_some_and(|token| token.is(word));
    let is_local = is(0, "LOCAL");
    let scoped =
        is_local || (is(0, "SESSION") && !is(1, "CHARACTERISTICS") && !is(1, "AUTHORIZATION"));
    let at = usize::from(scoped);
    if is(at, "SESSION") || is(at, "ROLE") || is(at, "CONSTRAINTS") || is(at, "TRANSACTION") {
        return Ok(Local::Nothing("SET"));
    }
    let (name, mut from) = if is(at, "TIME") && is(at + 1, "ZONE") {
        ("TimeZone".to_owned(), at + 2)
    } else if is(at, "NAMES") {
        ("client_encoding".to_owned(), at + 1)
    } else {
        let end = rest.iter().position(|token| token.text == "=" || token.is("TO"));
        let end = end.ok_or_else(|| syntax("SET lacks a value: SET name = value"))?;
        let Some(name) = rest.get(at..end).filter(|name| !name.is_empty()) else {
            return Err(syntax("SET lacks a name: SET name = value"));
        };
        (joined(name, 0), end + 1)
    };
    if !settings::is_known(&name) && name.contains('.') {
        return Ok(Local::Engine);
    }
    if rest.get(from).is_some_and(|token| token.text == "=") {
        from += 1;
    }
    let Some(values) = rest.get(from..).filter(|values| !values.is_empty()) else {
        return Err(syntax("SET lacks a value: SET name = value"));
    };
    if values.len() == 1 && (values[0].is("DEFAULT") || values[0].is("LOCAL")) {
        return Ok(Local::Set(name, None, is_local));
    }
    let value = match values {
        // The quotes of a list stay, as in search_path.
        [only] => only.unquoted(),
        [.., last] => sql[values[0].start..last.start + last.text.len()].to_owned(),
        [] => String::new(),
    };
    Ok(Local::Set(name, Some(value), is_local))
}

fn declare(sql: &str, rest: &[Token<'_>], name: String) -> Result<Local, SqlError> {
    let at = |word: &str| rest.iter().position(|token| token.is(word));
    let cursor = at("CURSOR")
        .ok_or_else(|| syntax("DECLARE lacks CURSOR: DECLARE name CURSOR FOR SELECT …"))?;
    let is = |words: &[&str]| {
        rest.windows(words.len())
            .take(cursor + 3)
            .any(|tokens| tokens.iter().zip(words).all(|(token, word)| token.is(word)))
    };
    let scrolls = is(&["SCROLL"]) && !is(&["NO", "SCROLL"]);
    if scrolls {
        return Err(unsupported("a cursor that scrolls", "Read forward, or run the query again."));
    }
    let holds = is(&["WITH", "HOLD"]);
    let begin = rest.iter().skip(cursor).find(|token| token.is("FOR"));
    let begin =
        begin.ok_or_else(|| syntax("DECLARE lacks FOR: DECLARE name CURSOR FOR SELECT …"))?;
    let query = sql[begin.start + begin.text.len()..].trim();
    Ok(Local::Declare(name, query.to_owned(), holds))
}

fn fetch(rest: &[Token<'_>], sends: bool) -> Result<Local, SqlError> {
    let backward =
        || unsupported("reading a cursor backward", "Read forward, or run the query again.");
    let mut count = Some(1);
    let mut at = 0;
    while let Some(token) = rest.get(at) {
        match token.text.to_ascii_uppercase().as_str() {
            "FORWARD" | "NEXT" => {}
            "ALL" => count = None,
            "FROM" | "IN" => {
                at += 1;
                break;
            }
            "BACKWARD" | "PRIOR" | "LAST" | "ABSOLUTE" | "RELATIVE" | "FIRST" | "-" => {
                return Err(backward());
            }
            _ if token.kind == TokenKind::Number => {
                let number = token.text.parse();
                count = Some(number.map_err(|_| syntax("FETCH expects a whole number of rows"))?);
            }
            _ => break,
        }
        at += 1;
    }
    let cursor = rest.get(at).ok_or_else(|| syntax("FETCH lacks the name of a cursor"))?;
    Ok(Local::Fetch(cursor.unquoted(), count, sends))
}

fn copy(sql: &str, rest: &[Token<'_>]) -> Result<Local, SqlError> {
    // The direction follows the table or the query, after its parentheses.
    let mut depth = 0_usize;
    for (index, token) in rest.iter().enumerate() {
        match token.text {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            _ if token.is("FROM") && rest.get(index + 1).is_some_and(|next| next.is("STDIN")) => {
                return Err(unsupported(
                    "COPY FROM STDIN",
                    "Write a file to the store, and read it from there.",
                ));
            }
            _ if token.is("TO") => {
                if !rest.get(index + 1).is_some_and(|next| next.is("STDOUT")) {
                    return Ok(Local::Engine);
                }
                let options = CopyOptions::parse(&rest[index + 2..])?;
                let source = &rest[..index];
                return Ok(Local::CopyOut(copied(sql, source)?, options));
            }
            _ => {}
        }
    }
    Ok(Local::Engine)
}

/// Returns the query of a COPY: what is in parentheses, or all rows of a table.
fn copied(sql: &str, source: &[Token<'_>]) -> Result<String, SqlError> {
    let (Some(first), Some(last)) = (source.first(), source.last()) else {
        return Err(syntax("COPY lacks a table or a query: COPY (SELECT …) TO STDOUT"));
    };
    let end = last.start + last.text.len();
    if first.text == "(" {
        return Ok(sql[first.start + 1..end - 1].trim().to_owned());
    }
    match source.iter().position(|token| token.text == "(") {
        // `t (a, b)`: columns of a table.
        Some(list) => {
            let columns = &sql[source[list].start + 1..end - 1];
            Ok(format!("SELECT {columns} FROM {}", sql[first.start..source[list].start].trim()))
        }
        None => Ok(format!("SELECT * FROM {}", &sql[first.start..end])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sql: &str, expected: Local) {
        assert_eq!(recognise(sql), Ok(expected), "{sql}");
    }

    fn set(name: &str, value: &str) -> Local {
        Local::Set(name.to_owned(), Some(value.to_owned()), false)
    }

    #[test]
    fn transactions_are_recognised() {
        check("BEGIN", Local::Begin);
        check("/* c */ begin isolation level serializable read only", Local::Begin);
        check("START TRANSACTION READ ONLY", Local::Begin);
        check("END WORK", Local::Commit);
        check("ROLLBACK", Local::Rollback);
        check("SAVEPOINT \"A b\"", Local::Savepoint("A b".to_owned()));
        check("ROLLBACK TO SAVEPOINT a", Local::RollbackTo("a".to_owned()));
        check("ROLLBACK TRANSACTION TO a", Local::RollbackTo("a".to_owned()));
        check("RELEASE a", Local::Release("a".to_owned()));
        check("SELECT begin", Local::Engine);
        recognise("COMMIT PREPARED 'x'").unwrap_err();
        recognise("SAVEPOINT").unwrap_err();
    }

    #[test]
    fn settings_of_the_engine_are_left_to_it() {
        check("SET application_name = 'it''s'", set("application_name", "it's"));
        check("SET SESSION extra_float_digits TO 3", set("extra_float_digits", "3"));
        check("SET search_path = \"$user\", public", set("search_path", "\"$user\", public"));
        check("SET TIME ZONE 'UTC'", set("TimeZone", "UTC"));
        check("SET NAMES 'UTF8'", set("client_encoding", "UTF8"));
        check("SET DateStyle TO DEFAULT", Local::Set("datestyle".to_owned(), None, false));
        check(
            "SET LOCAL work_mem = '1MB'",
            Local::Set("work_mem".to_owned(), Some("1MB".to_owned()), true),
        );
        check("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", Local::Nothing("SET"));
        check("SET sluice.scan = 'get'", Local::Engine);
        check("SHOW sluice.scan", Local::Engine);
        check("SHOW TABLES", Local::Engine);
        check(
            "SHOW transaction isolation level",
            Local::Show("transaction isolation level".to_owned()),
        );
        check("RESET sluice.scan", Local::Engine);
        recognise("SET x").unwrap_err();
        recognise("SET = 1").unwrap_err();
    }

    #[test]
    fn cursors_are_recognised() {
        let query = "SELECT 'CURSOR FOR'".to_owned();
        check(
            "DECLARE \"c 1\" NO SCROLL CURSOR FOR SELECT 'CURSOR FOR'",
            Local::Declare("c 1".to_owned(), query.clone(), false),
        );
        check(
            "DECLARE c CURSOR WITH HOLD FOR SELECT 'CURSOR FOR'",
            Local::Declare("c".to_owned(), query, true),
        );
        check("FETCH FORWARD 100 FROM c", Local::Fetch("c".to_owned(), Some(100), true));
        check("FETCH ALL IN c", Local::Fetch("c".to_owned(), None, true));
        check("FETCH c", Local::Fetch("c".to_owned(), Some(1), true));
        check("MOVE 5 FROM c", Local::Fetch("c".to_owned(), Some(5), false));
        check("CLOSE ALL", Local::Close(None));
        recognise("FETCH BACKWARD 5 FROM c").unwrap_err();
        recognise("DECLARE c SCROLL CURSOR FOR SELECT 1").unwrap_err();
        recognise("FETCH").unwrap_err();
    }

    #[test]
    fn a_copy_to_the_client_is_a_query() {
        let options = CopyOptions::default();
        check(
            "COPY (SELECT a FROM t) TO STDOUT",
            Local::CopyOut("SELECT a FROM t".to_owned(), options.clone()),
        );
        check(
            "COPY s.t TO STDOUT",
            Local::CopyOut("SELECT * FROM s.t".to_owned(), options.clone()),
        );
        check("COPY t (a, b) TO STDOUT", Local::CopyOut("SELECT a, b FROM t".to_owned(), options));
        check("COPY t TO 's3://b/x.csv'", Local::Engine);
        assert_eq!(recognise("COPY t FROM STDIN").unwrap_err().code, state::FEATURE_NOT_SUPPORTED);
        recognise("COPY TO STDOUT").unwrap_err();
    }
}
