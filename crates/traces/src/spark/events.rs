//! The events of a log that are read; all others are skipped.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::plan::PlanInfo;
use crate::json::{bound, deep};

/// An event of a log.
#[derive(Debug)]
pub(super) enum Event {
    LogStart(LogStart),
    ApplicationStart,
    ExecutorAdded(ExecutorAdded),
    ExecutorRemoved(ExecutorRemoved),
    JobStart(JobStart),
    StageCompleted(StageCompleted),
    TaskEnd(Box<TaskEnd>),
    ExecutionStart(ExecutionStart),
    PlanUpdate(PlanUpdate),
    ExecutionEnd(ExecutionEnd),
    Other,
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(rename = "Event", borrow)]
    event: Cow<'a, str>,
}

impl Event {
    /// Parses a line to an event.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        let text = |error: serde_json::Error| format!("is no event of Spark: {error}");
        let tag: Tag<'_> = serde_json::from_slice(line).map_err(text)?;
        bound(line)?;
        let name = tag.event.rsplit('.').next().unwrap_or_default();
        Ok(match name {
            "SparkListenerLogStart" => Self::LogStart(deep(line)?),
            "SparkListenerApplicationStart" => Self::ApplicationStart,
            "SparkListenerExecutorAdded" => Self::ExecutorAdded(deep(line)?),
            "SparkListenerExecutorRemoved" => Self::ExecutorRemoved(deep(line)?),
            "SparkListenerJobStart" => Self::JobStart(deep(line)?),
            "SparkListenerStageCompleted" => Self::StageCompleted(deep(line)?),
            "SparkListenerTaskEnd" => Self::TaskEnd(deep(line)?),
            "SparkListenerSQLExecutionStart" => Self::ExecutionStart(deep(line)?),
            "SparkListenerSQLAdaptiveExecutionUpdate" => Self::PlanUpdate(deep(line)?),
            "SparkListenerSQLExecutionEnd" => Self::ExecutionEnd(deep(line)?),
            _ => Self::Other,
        })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct LogStart {
    #[serde(rename = "Spark Version")]
    pub(super) version: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExecutorAdded {
    #[serde(rename = "Executor ID", default)]
    pub(super) id: String,
    #[serde(rename = "Executor Info")]
    pub(super) info: ExecutorInfo,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExecutorRemoved {
    #[serde(rename = "Executor ID", default)]
    pub(super) id: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExecutorInfo {
    #[serde(rename = "Total Cores")]
    pub(super) cores: u32,
}

#[derive(Debug, Deserialize)]
pub(super) struct JobStart {
    #[serde(rename = "Stage Infos")]
    pub(super) stages: Vec<StageInfo>,
    #[serde(rename = "Properties", default)]
    properties: Option<Properties>,
}

#[derive(Debug, Deserialize)]
struct Properties {
    #[serde(rename = "spark.sql.execution.id")]
    execution: Option<String>,
    #[serde(rename = "spark.sql.execution.root.id")]
    root: Option<String>,
}

impl JobStart {
    /// Returns the number of the query that the job belongs to.
    pub(super) fn execution(&self) -> Option<u64> {
        let properties = self.properties.as_ref()?;
        properties.execution.as_ref().or(properties.root.as_ref())?.parse().ok()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct StageInfo {
    #[serde(rename = "Stage ID")]
    pub(super) id: u64,
    #[serde(rename = "Stage Attempt ID", default)]
    pub(super) attempt: u64,
    #[serde(rename = "Parent IDs", default)]
    pub(super) parents: Vec<u64>,
    #[serde(rename = "RDD Info", default)]
    rdds: Vec<Rdd>,
    /// The time in milliseconds since 1970.
    #[serde(rename = "Completion Time")]
    pub(super) completed: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Rdd {
    #[serde(rename = "RDD ID")]
    id: u64,
}

impl StageInfo {
    /// Identifies the result of the stage: stages of different jobs with the same number compute the same result.
    pub(super) fn computes(&self) -> Option<u64> {
        self.rdds.iter().map(|rdd| rdd.id).max()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct StageCompleted {
    #[serde(rename = "Stage Info")]
    pub(super) info: StageInfo,
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskEnd {
    #[serde(rename = "Stage ID")]
    pub(super) stage: u64,
    #[serde(rename = "Stage Attempt ID", default)]
    pub(super) attempt: u64,
    #[serde(rename = "Task Info")]
    pub(super) info: TaskInfo,
    #[serde(rename = "Task Metrics")]
    pub(super) metrics: Option<TaskMetrics>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskInfo {
    #[serde(rename = "Launch Time")]
    pub(super) launched: u64,
    #[serde(rename = "Finish Time")]
    pub(super) finished: u64,
    #[serde(rename = "Accumulables", default)]
    accumulables: Vec<Accumulable>,
}

#[derive(Debug, Deserialize)]
struct Accumulable {
    #[serde(rename = "ID")]
    id: u64,
    #[serde(rename = "Update")]
    update: Option<Value>,
    #[serde(rename = "Metadata")]
    metadata: Option<String>,
}

impl TaskInfo {
    /// Returns the SQL metrics that the task added to: the metric's number and the amount.
    pub(super) fn sql_updates(&self) -> impl Iterator<Item = (u64, f64)> {
        let of_sql = self.accumulables.iter().filter(|it| it.metadata.as_deref() == Some("sql"));
        of_sql.filter_map(|it| {
            let amount = match it.update.as_ref()? {
                Value::Number(number) => number.as_f64()?,
                Value::String(text) => text.parse().ok()?,
                _ => return None,
            };
            Some((it.id, amount))
        })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskMetrics {
    /// The run time in milliseconds.
    #[serde(rename = "Executor Run Time")]
    pub(super) run: u64,
    #[serde(rename = "Result Size", default)]
    pub(super) result: u64,
    #[serde(rename = "Input Metrics")]
    input: Option<InputMetrics>,
    #[serde(rename = "Shuffle Write Metrics")]
    shuffle: Option<ShuffleMetrics>,
}

#[derive(Debug, Deserialize)]
struct InputMetrics {
    #[serde(rename = "Bytes Read", default)]
    bytes: u64,
}

#[derive(Debug, Deserialize)]
struct ShuffleMetrics {
    #[serde(rename = "Shuffle Bytes Written", default)]
    bytes: u64,
}

impl TaskMetrics {
    /// Returns the bytes read from storage.
    pub(super) fn read(&self) -> u64 {
        self.input.as_ref().map_or(0, |it| it.bytes)
    }

    /// Returns the bytes written for the next stage.
    pub(super) fn shuffled(&self) -> u64 {
        self.shuffle.as_ref().map_or(0, |it| it.bytes)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExecutionStart {
    pub(super) execution_id: u64,
    #[serde(default)]
    pub(super) description: String,
    pub(super) spark_plan_info: PlanInfo,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlanUpdate {
    pub(super) execution_id: u64,
    pub(super) spark_plan_info: PlanInfo,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExecutionEnd {
    pub(super) execution_id: u64,
    #[serde(default)]
    pub(super) error_message: Option<String>,
}
