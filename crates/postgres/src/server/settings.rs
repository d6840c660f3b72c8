//! The settings that belong to the protocol and not to the engine.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::{SqlError, state};

/// The version of PostgreSQL whose protocol and catalog the server has.
pub(crate) const SERVER_VERSION: &str = "15.0";

/// What a client may do to a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Any value is stored.
    Any,
    /// The setting cannot be changed.
    Fixed,
    /// The value must be one of these, or begin with one of these and a comma. Others would change the form of
    /// answers, which has only this one.
    Only(&'static [&'static str]),
    /// Any value is accepted, and the setting keeps its own.
    Kept,
    /// A time, in milliseconds without a unit.
    Time,
}

/// A setting: name, default, whether clients are told about changes, and rule.
type Known = (&'static str, &'static str, bool, Rule);

const KNOWN: &[Known] = &[
    ("application_name", "", true, Rule::Any),
    ("backslash_quote", "safe_encoding", false, Rule::Any),
    ("bytea_output", "hex", false, Rule::Only(&["hex"])),
    ("check_function_bodies", "on", false, Rule::Any),
    ("client_encoding", "UTF8", true, Rule::Only(&["utf8", "utf-8", "unicode"])),
    ("client_min_messages", "notice", false, Rule::Any),
    ("DateStyle", "ISO, MDY", true, Rule::Only(&["iso"])),
    ("default_table_access_method", "heap", false, Rule::Any),
    ("default_tablespace", "", false, Rule::Any),
    ("default_transaction_deferrable", "off", false, Rule::Any),
    ("default_transaction_isolation", "read committed", false, Rule::Any),
    ("default_transaction_read_only", "off", true, Rule::Any),
    ("enable_bitmapscan", "on", false, Rule::Any),
    ("enable_hashjoin", "on", false, Rule::Any),
    ("enable_indexscan", "on", false, Rule::Any),
    ("enable_mergejoin", "on", false, Rule::Any),
    ("enable_nestloop", "on", false, Rule::Any),
    ("enable_seqscan", "on", false, Rule::Any),
    ("escape_string_warning", "on", false, Rule::Any),
    ("extra_float_digits", "1", false, Rule::Any),
    ("idle_in_transaction_session_timeout", "0", false, Rule::Any),
    ("idle_session_timeout", "0", false, Rule::Any),
    ("in_hot_standby", "off", true, Rule::Fixed),
    ("integer_datetimes", "on", true, Rule::Fixed),
    ("IntervalStyle", "postgres", true, Rule::Only(&["postgres"])),
    ("is_superuser", "off", true, Rule::Fixed),
    ("jit", "off", false, Rule::Any),
    ("lc_collate", "C", false, Rule::Fixed),
    ("lc_ctype", "C.UTF-8", false, Rule::Fixed),
    ("lc_messages", "C", false, Rule::Any),
    ("lc_monetary", "C", false, Rule::Any),
    ("lc_numeric", "C", false, Rule::Any),
    ("lc_time", "C", false, Rule::Any),
    ("lock_timeout", "0", false, Rule::Any),
    ("max_identifier_length", "63", false, Rule::Fixed),
    ("max_index_keys", "32", false, Rule::Fixed),
    ("quote_all_identifiers", "off", false, Rule::Any),
    ("role", "none", false, Rule::Kept),
    ("row_security", "on", false, Rule::Any),
    ("search_path", "\"$user\", public", false, Rule::Any),
    ("seq_page_cost", "1", false, Rule::Any),
    ("server_encoding", "UTF8", true, Rule::Fixed),
    ("server_version", SERVER_VERSION, true, Rule::Fixed),
    ("server_version_num", "150000", false, Rule::Fixed),
    ("session_authorization", "", true, Rule::Kept),
    ("standard_conforming_strings", "on", true, Rule::Only(&["on", "true"])),
    ("statement_timeout", "0", false, Rule::Time),
    ("synchronous_commit", "on", false, Rule::Any),
    ("synchronize_seqscans", "on", false, Rule::Any),
    ("TimeZone", "UTC", true, Rule::Kept),
    ("transaction_deferrable", "off", false, Rule::Any),
    ("transaction_isolation", "read committed", false, Rule::Any),
    ("transaction_read_only", "off", false, Rule::Any),
    ("work_mem", "4MB", false, Rule::Any),
    ("xmloption", "content", false, Rule::Any),
];

/// The settings of a session.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Those that differ from their defaults, by their names.
    changed: BTreeMap<&'static str, String>,
    /// The values at the start of the session, to which RESET returns.
    initial: BTreeMap<&'static str, String>,
}

/// The most characters of a value.
const MOST_CHARACTERS: usize = 4096;

fn known(name: &str) -> Option<&'static Known> {
    let name = match name {
        name if name.eq_ignore_ascii_case("time zone") => "timezone",
        name if name.eq_ignore_ascii_case("transaction isolation level") => "transaction_isolation",
        name if name.eq_ignore_ascii_case("names") => "client_encoding",
        name => name,
    };
    KNOWN.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))
}

/// Returns the settings of the protocol with their defaults.
pub fn default_settings() -> impl Iterator<Item = (&'static str, &'static str)> {
    KNOWN.iter().map(|(name, default, ..)| (*name, *default))
}

/// Returns true if the protocol has a setting of this name.
pub(crate) fn is_known(name: &str) -> bool {
    known(name).is_some()
}

impl Settings {
    /// Returns the settings of a new session. What the startup packet sets wrongly is left at its default.
    pub(crate) fn new(user: &str, startup: &[(String, String)]) -> Self {
        let mut settings = Self { changed: BTreeMap::new(), initial: BTreeMap::new() };
        settings.changed.insert("session_authorization", user.chars().take(63).collect());
        for (name, value) in startup {
            if known(name).is_some() {
                let _ = settings.set(name, Some(value));
            }
        }
        let options = startup.iter().find(|(name, _)| name == "options");
        for option in options.iter().flat_map(|(_, text)| text.split_whitespace()) {
            // `-c name=value`, `-cname=value` and `--name=value` are all in use.
            let option =
                option.strip_prefix("-c").or_else(|| option.strip_prefix("--")).unwrap_or(option);
            if let Some((name, value)) = option.split_once('=') {
                let _ = settings.set(name, Some(value));
            }
        }
        settings.initial = settings.changed.clone();
        settings
    }

    /// Returns the settings that clients are told about, with their values.
    pub(crate) fn reported(&self) -> impl Iterator<Item = (&'static str, &str)> {
        KNOWN.iter().filter(|known| known.2).map(|(name, default, ..)| {
            (*name, self.changed.get(name).map_or(*default, String::as_str))
        })
    }

    /// Returns all settings.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        KNOWN.iter().map(|(name, default, ..)| {
            (*name, self.changed.get(name).map_or(*default, String::as_str))
        })
    }

    /// Returns the name as it is written, and the value.
    pub(crate) fn get(&self, name: &str) -> Option<(&'static str, &str)> {
        let (name, default, ..) = known(name)?;
        Some((name, self.changed.get(name).map_or(*default, String::as_str)))
    }

    /// Sets a setting; without a value to what it was when the session began. Returns its name if clients are to be
    /// told.
    pub(crate) fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
    ) -> Result<Option<&'static str>, SqlError> {
        let Some((name, default, reported, rule)) = known(name) else {
            return Err(SqlError::new(
                state::UNDEFINED_OBJECT,
                format!("there is no setting `{name}`"),
            )
            .with_hint("SHOW ALL lists the settings."));
        };
        let Some(value) = value else {
            match self.initial.get(name) {
                Some(value) => self.changed.insert(name, value.clone()),
                None => self.changed.remove(name),
            };
            return Ok(reported.then_some(name));
        };
        if value.len() > MOST_CHARACTERS {
            return Err(SqlError::new(
                state::INVALID_PARAMETER,
                format!("the value of {name} is too long"),
            ));
        }
        let stored = match rule {
            Rule::Any => value.to_owned(),
            Rule::Kept => return Ok(None),
            Rule::Fixed => {
                let message = format!("the setting {name} cannot be changed");
                return Err(SqlError::new(state::CANNOT_CHANGE, message));
            }
            Rule::Only(values) => {
                let first = value.split(',').next().unwrap_or_default().trim();
                if !values.iter().any(|value| first.eq_ignore_ascii_case(value)) {
                    let message = format!("{name} cannot be `{value}`");
                    let hint = format!("The server has only {name} = '{default}'.");
                    return Err(SqlError::new(state::INVALID_PARAMETER, message).with_hint(hint));
                }
                (*default).to_owned()
            }
            Rule::Time => match milliseconds(value) {
                Some(_) => value.to_owned(),
                None => {
                    let message = format!("{name} cannot be `{value}`");
                    let hint = "Give milliseconds, or a unit: 500, '30s', '5min'.";
                    return Err(SqlError::new(state::INVALID_PARAMETER, message).with_hint(hint));
                }
            },
        };
        self.changed.insert(name, stored);
        Ok(reported.then_some(name))
    }

    /// Resets all settings.
    pub(crate) fn reset(&mut self) {
        self.changed = self.initial.clone();
    }

    /// Returns the time that statements may run.
    pub(crate) fn statement_timeout(&self) -> Option<Duration> {
        let (_, value) = self.get("statement_timeout")?;
        milliseconds(value).filter(|time| !time.is_zero())
    }
}

/// Reads a time such as `500`, `30s` or `5min`.
fn milliseconds(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let factor = match text[digits..].trim() {
        "" | "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(factor).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked_and_reset() {
        let startup = [
            ("client_encoding", "UTF8"),
            ("TimeZone", "Europe/Berlin"),
            ("application_name", "x"),
            ("options", "-c statement_timeout=5s"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut settings = Settings::new("me", &startup);
        assert_eq!(settings.get("timezone"), Some(("TimeZone", "UTC")));
        assert_eq!(settings.get("session_authorization").unwrap().1, "me");
        assert_eq!(settings.statement_timeout(), Some(Duration::from_secs(5)));
        assert_eq!(settings.set("Application_Name", Some("y")).unwrap(), Some("application_name"));
        assert_eq!(settings.set("extra_float_digits", Some("3")).unwrap(), None);
        settings.set("application_name", None).unwrap();
        assert_eq!(settings.get("application_name").unwrap().1, "x");
        settings.reset();
        assert_eq!(settings.get("extra_float_digits").unwrap().1, "1");
        let refused = |settings: &mut Settings, name, value| {
            settings.set(name, Some(value)).unwrap_err().code
        };
        assert_eq!(refused(&mut settings, "nonsense", "1"), state::UNDEFINED_OBJECT);
        assert_eq!(refused(&mut settings, "server_version", "1"), state::CANNOT_CHANGE);
        assert_eq!(refused(&mut settings, "DateStyle", "German"), state::INVALID_PARAMETER);
        assert_eq!(refused(&mut settings, "client_encoding", "LATIN1"), state::INVALID_PARAMETER);
        assert_eq!(refused(&mut settings, "statement_timeout", "soon"), state::INVALID_PARAMETER);
        settings.set("datestyle", Some("ISO, DMY")).unwrap();
    }
}
