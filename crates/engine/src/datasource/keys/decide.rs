//! Which keys a scan sends, once they are known.

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::physical_plan::FileScanConfig;

use super::ask::{Asking, Form, Sent, ask};
use super::extract::Keys;
use crate::choice::{Chooser, Offer, Question, Way};
use crate::config::{Join, SluiceOptions};
use crate::datasource::s3_select::{Filter, S3SelectSource};
use crate::endpoint::Endpoint;
use crate::profile::{conditions, keys_demand, open_demand};

/// The probability of a wrong yes that PushdownDB asks for, and that is asked for where a Bloom
/// filter is forced.
const PAPER_P: f64 = 0.01;

/// The probabilities among which the cost decides.
const CHOICE_OF_P: [f64; 4] = [0.001, 0.01, 0.1, 0.5];

/// Bytes of a statement that surround a condition.
const AROUND: usize = " WHERE () AND ()".len();

/// What keys mean to a scan.
#[derive(Debug, Clone)]
pub enum Decided {
    /// No row has one: there is nothing to ask.
    NoRow,
    /// What is asked about them, which may be nothing.
    Ask(Sent),
}

/// What a scan asks about the keys that have arrived by now: all that is possible if the session
/// says so, otherwise what is predicted to be best, which may be nothing.
///
/// # Errors
///
/// If a condition cannot be evaluated here.
pub fn decide(
    source: &S3SelectSource,
    endpoint: &Endpoint,
    config: &FileScanConfig,
    options: &ConfigOptions,
) -> Result<Decided> {
    let keys = match source.keys()? {
        Keys::Any => return Ok(Decided::Ask(Sent::default())),
        Keys::None => return Ok(Decided::NoRow),
        Keys::Of(keys) => keys,
    };
    let bare = source.statement(None).map_or(0, |statement| statement.sql().len());
    let profile = source.profile();
    let takes = |filters: &[Filter]| source.takes_with(endpoint, filters);
    let asking = Asking {
        translator: source.translator(),
        schema: source.file_schema(),
        room: profile.max_expression_bytes.saturating_sub(bare + AROUND),
        takes: &takes,
    };
    if SluiceOptions::of(options).join == Join::Bloom {
        return Ok(Decided::Ask(ask(&asking, &keys, Form::Bloom(PAPER_P))?));
    }
    let forms = [Form::Bounds, Form::List].into_iter().chain(CHOICE_OF_P.map(Form::Bloom));
    let mut ways = vec![Sent::default()];
    for form in forms {
        let sent = ask(&asking, &keys, form)?;
        if !sent.filters.is_empty() && ways.iter().all(|known| known.columns != sent.columns) {
            ways.push(sent);
        }
    }
    let demand = open_demand(config, source, options);
    let ways = ways.into_iter().map(|sent| {
        let conditions = sent.filters.iter().map(|filter| &filter.there.expr);
        let share = sent.share(source.domain());
        let demand = keys_demand(demand, share, self::conditions(conditions));
        let steps = demand.select().unwrap_or_else(|| demand.get()).steps;
        let strategy = if sent.filters.is_empty() { "filtered" } else { "bloom" };
        Way { strategy, offer: Ok(Offer { steps, statement: None, build: sent }) }
    });
    let question = Question {
        operator: "join",
        subject: String::new(),
        ways: ways.collect(),
        forced: None,
        notes: Vec::new(),
    };
    let (sent, _) = Chooser::of(endpoint, options).choose(question)?;
    Ok(Decided::Ask(sent))
}
