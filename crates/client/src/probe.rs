//! Runs a probe's questions against a store.

use std::sync::Arc;

use super::Client;
use super::error::Error;
use super::metrics::SelectMetrics;
use sluicegate_conformance::probe::{Facts, Outcome, Question, Report};
use sluicegate_conformance::{NoAnswer, RawAnswer};
use sluicegate_s3select::request::{
    Compression, CsvInput, InputFormat, InputSerialization, JsonType, ScanRange, SelectRequest,
};

/// The bytes of a foreign object that are scanned, if the store supports scan ranges.
const GLANCE: u64 = 64 << 10;

/// The objects that the questions of a probe are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeTarget {
    /// The probe's own samples, stored at `prefix` + [`Sample::file_name`].
    ///
    /// [`Sample::file_name`]: sluicegate_conformance::probe::Sample::file_name
    Samples {
        /// The name of the bucket.
        bucket: String,
        /// The prefix of the samples' keys.
        prefix: String,
    },
    /// An object of unknown content, which must not be changed. Only questions that need no sample are used, so
    /// nothing is learned about fields and their values.
    Object {
        /// The name of the bucket.
        bucket: String,
        /// The key of the object, whose extension determines the format.
        key: String,
    },
}

impl Client {
    /// Finds out what the store supports, one question at a time. `asked` is called before each question with its
    /// number, counted from 1.
    ///
    /// The client should use [`StoreCapabilities::unknown`], which assumes nothing.
    ///
    /// # Errors
    ///
    /// If the store cannot be reached, refuses access, or the bucket or the object does not exist. Any other answer
    /// is a finding.
    ///
    /// [`StoreCapabilities::unknown`]: sluicegate_s3select::capabilities::StoreCapabilities::unknown
    pub async fn probe(
        &self,
        target: &ProbeTarget,
        metrics: &Arc<SelectMetrics>,
        asked: impl Fn(usize),
    ) -> Result<Report, Error> {
        let mut probe = Probe { client: self, metrics, facts: Facts::default(), hopeless: None };
        let view = match target {
            ProbeTarget::Samples { .. } => None,
            ProbeTarget::Object { bucket, key } => Some(probe.view(bucket, key).await?),
        };
        let mut outcomes = Vec::new();
        for (index, question) in Question::all().enumerate() {
            asked(index + 1);
            let outcome = match (target, &view) {
                (ProbeTarget::Object { bucket, key }, Some(view)) => {
                    match question.request_about(&view.input, view.scan_range) {
                        Some(request) => {
                            let answer = probe.run_question(bucket, key, &request).await?;
                            question.judge_about(answer.as_ref())
                        }
                        None => Outcome::not_known("not asked: it needs an object of our own"),
                    }
                }
                (ProbeTarget::Samples { bucket, prefix }, _) => {
                    let key = format!("{prefix}{}", question.sample.file_name());
                    let answer = probe.run_question(bucket, &key, &question.request()).await?;
                    question.judge(answer.as_ref())
                }
                (ProbeTarget::Object { .. }, None) => Outcome::not_known("not asked"),
            };
            outcomes.push((question, outcome));
        }
        Ok(Report::new(outcomes, &probe.facts))
    }
}

struct Probe<'a> {
    client: &'a Client,
    metrics: &'a Arc<SelectMetrics>,
    facts: Facts,
    /// The refusal of every statement, once the store has sent one.
    hopeless: Option<NoAnswer>,
}

/// The input format and the range with which an object is read.
struct ObjectView {
    input: InputSerialization,
    scan_range: Option<ScanRange>,
}

impl Probe<'_> {
    /// Sends one question's request. A refusal counts as an answer.
    async fn run_question(
        &mut self,
        bucket: &str,
        key: &str,
        request: &SelectRequest,
    ) -> Result<Result<RawAnswer, NoAnswer>, Error> {
        if let Some(error) = &self.hopeless {
            return Ok(Err(error.clone()));
        }
        let mut answer = self.client.send(bucket, key, request, self.metrics).await;
        if matches!(answer, Err(Error::Transient { .. })) {
            answer = self.client.send(bucket, key, request, self.metrics).await;
        }
        let answer = match answer {
            Ok(answer) => Ok(answer),
            Err(error) => Err(NoAnswer::try_from(error)?),
        };
        match &answer {
            Ok(answer) => {
                let named = answer.e_tag.is_some();
                match self.facts.names_version {
                    None => self.facts.extensions = answer.extensions.clone(),
                    Some(_) => self.facts.extensions.retain(|it| answer.extensions.contains(it)),
                }
                let before = self.facts.names_version.unwrap_or(true);
                self.facts.names_version = Some(before && named);
                if !answer.records.is_empty() {
                    let ends =
                        answer.records.ends_with(request.output.record_delimiter().as_bytes());
                    self.facts.ends_records = Some(self.facts.ends_records.unwrap_or(true) && ends);
                }
                self.facts.progress_came |= request.progress && answer.progress_events > 0;
            }
            Err(refusal @ NoAnswer::Refused { every_statement: true, .. }) => {
                self.hopeless = Some(refusal.clone());
            }
            Err(_) => {}
        }
        Ok(answer)
    }

    /// Returns how to read an object, with a scan range if the store can scan only its first bytes.
    async fn view(&mut self, bucket: &str, key: &str) -> Result<ObjectView, Error> {
        self.client.head_counted(bucket, key, self.metrics).await?;
        let input = input_of(key);
        let splittable = input.compression == Compression::None
            && matches!(&input.format, InputFormat::Csv(_) | InputFormat::Json(JsonType::Lines));
        let range = ScanRange::Bounded { start: 0, last: GLANCE - 1 };
        let probing = Question::all()
            .find_map(|question| question.request_about(&input, splittable.then_some(range)));
        let answered = match probing {
            Some(request) => self.run_question(bucket, key, &request).await?.is_ok(),
            None => false,
        };
        Ok(ObjectView { input, scan_range: (splittable && answered).then_some(range) })
    }
}

/// Infers an object's format from its extension; CSV if that is unknown.
fn input_of(key: &str) -> InputSerialization {
    let name = key.to_ascii_lowercase();
    let (name, compression) = match name.strip_suffix(".gz") {
        Some(name) => (name, Compression::Gzip),
        None => match name.strip_suffix(".bz2") {
            Some(name) => (name, Compression::Bzip2),
            None => (name.as_str(), Compression::None),
        },
    };
    let format = match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("parquet") => InputFormat::Parquet,
        Some("json" | "ndjson" | "jsonl") => InputFormat::Json(JsonType::Lines),
        _ => InputFormat::Csv(CsvInput { comments: Some('\u{7f}'), ..CsvInput::default() }),
    };
    InputSerialization { format, compression }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_objects_are() {
        for (key, format, compression) in [
            ("a/b.csv", "Csv", Compression::None),
            ("a/b", "Csv", Compression::None),
            ("b.CSV.GZ", "Csv", Compression::Gzip),
            ("b.jsonl.bz2", "Json", Compression::Bzip2),
            ("b.parquet", "Parquet", Compression::None),
        ] {
            let input = input_of(key);
            assert!(format!("{:?}", input.format).starts_with(format), "{key}: {input:?}");
            assert_eq!(input.compression, compression, "{key}");
        }
    }
}
