//! `ANALYZE TABLE t [COLUMNS a, b]` collects statistics of whole objects.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, plan_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use futures::{StreamExt, TryStreamExt};

use crate::context::notes::Notes;
use crate::engine::sql;
use crate::estimate::statistics::cache::{StatisticsCache, Version};
use crate::estimate::statistics::collect::{Collector, is_known};
use crate::estimate::statistics::sample::now;
use crate::estimate::statistics::summary::Summary;
use crate::estimate::statistics::table::Objects;
use crate::estimate::statistics::{ObjectStatistics, Origin};

/// The parsed statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Analyze {
    /// The table as written in SQL: `t`, `"T"`, `'s3://bucket/file.csv'`.
    pub table: String,
    /// Names of the columns; empty for all.
    pub columns: Vec<String>,
}

impl Analyze {
    /// Parses a statement; `None` if it does not begin with ANALYZE.
    ///
    /// # Errors
    ///
    /// If it begins with ANALYZE and is not ANALYZE TABLE.
    pub fn parse(statement: &str) -> Result<Option<Self>> {
        // The SQL parser reports errors of the tokenizer.
        let Ok(tokens) = Tokenizer::new(&GenericDialect {}, statement).tokenize() else {
            return Ok(None);
        };
        let mut tokens: Vec<Token> =
            tokens.into_iter().filter(|token| !matches!(token, Token::Whitespace(_))).collect();
        while tokens.last() == Some(&Token::SemiColon) {
            tokens.pop();
        }
        let is = |token: Option<&Token>, word: &str| {
            matches!(token, Some(Token::Word(it)) if it.quote_style.is_none()
                && it.value.eq_ignore_ascii_case(word))
        };
        if !is(tokens.first(), "ANALYZE") {
            return Ok(None);
        }
        let wrong =
            || plan_err!("ANALYZE is written ANALYZE TABLE t, or ANALYZE TABLE t COLUMNS a, b");
        if !is(tokens.get(1), "TABLE") {
            return wrong();
        }
        let rest = &tokens[2..];
        let end = rest.iter().position(|token| is(Some(token), "COLUMNS"));
        let (name, columns) = rest.split_at(end.unwrap_or(rest.len()));
        let table: String = name.iter().map(ToString::to_string).collect();
        let named = match name {
            [Token::SingleQuotedString(_)] => true,
            _ => {
                let word = |token: &Token| matches!(token, Token::Word(_));
                name.len() % 2 == 1
                    && name.iter().step_by(2).all(word)
                    && name.iter().skip(1).step_by(2).all(|token| *token == Token::Period)
            }
        };
        if !named {
            return wrong();
        }
        let columns = match columns {
            [_, Token::LParen, columns @ .., Token::RParen] | [_, columns @ ..] => columns,
            [] => &[],
        };
        let mut names = Vec::new();
        for (place, token) in columns.iter().enumerate() {
            match token {
                Token::Word(word) if place % 2 == 0 => names.push(match word.quote_style {
                    Some(_) => word.value.clone(),
                    None => word.value.to_ascii_lowercase(),
                }),
                Token::Comma if place % 2 == 1 => {}
                _ => return wrong(),
            }
        }
        if (end.is_some() && names.is_empty()) || (end.is_some() && columns.len() % 2 == 0) {
            return wrong();
        }
        Ok(Some(Self { table, columns: names }))
    }

    /// Returns the query for the rows to be analyzed.
    #[must_use]
    pub fn query(&self) -> String {
        let quoted = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
        let columns: Vec<_> = self.columns.iter().map(quoted).collect();
        let columns = if columns.is_empty() { "*".to_owned() } else { columns.join(", ") };
        format!("SELECT {columns} FROM {}", self.table)
    }
}

/// Returns true if a statement is ANALYZE TABLE.
#[must_use]
pub fn is_analyze(statement: &str) -> bool {
    Analyze::parse(statement).is_ok_and(|analyze| analyze.is_some())
}

/// A table that is ready to be analyzed.
#[derive(Debug)]
pub struct Analysis {
    context: Arc<TaskContext>,
    known: StatisticsCache,
    /// The scan of the objects; `None` if no object has data.
    scan: Option<FileScanConfig>,
    /// Columns of the objects.
    schema: SchemaRef,
    /// Indexes of the analyzed columns in `schema`.
    columns: Vec<usize>,
    /// Each object with its version and known statistics.
    objects: Vec<(PartitionedFile, Version, Option<Arc<ObjectStatistics>>)>,
}

impl Analysis {
    /// Lists the table's objects. `session` must be used for this statement only.
    ///
    /// # Errors
    ///
    /// If the table or a column does not exist, or the table does not consist of objects in a bucket.
    pub(crate) async fn prepare(analyze: &Analyze, session: SessionContext) -> Result<Self> {
        {
            let state = session.state_ref();
            let mut state = state.write();
            let options = state.config_mut().options_mut();
            // Objects are fetched whole, without sampling and without an index.
            options.set("sluice.scan", "get")?;
            options.execution.collect_statistics = false;
        }
        let state = session.state();
        let all = Analyze { columns: Vec::new(), ..analyze.clone() };
        let plan = sql::logical_plan(&state, &all.query()).await?;
        let plan = state.create_physical_plan(&plan).await?;
        let scan = only_scan(&plan);
        let schema = match &scan {
            Some(scan) => Arc::clone(scan.file_source().table_schema().file_schema()),
            // All objects of the table are empty.
            None if plan.is::<EmptyExec>() => plan.schema(),
            None => return plan_err!("{} is not a table of objects", analyze.table),
        };
        let mut columns = Vec::new();
        for name in &analyze.columns {
            match schema.fields().iter().position(|field| field.name() == name) {
                Some(position) => columns.push(position),
                None => {
                    let names: Vec<_> =
                        schema.fields().iter().map(|field| field.name().as_str()).collect();
                    return plan_err!(
                        "the objects of {} have no column {name}; they have {}",
                        analyze.table,
                        names.join(", ")
                    );
                }
            }
        }
        if columns.is_empty() {
            let known = |position: &usize| is_known(schema.field(*position).data_type());
            columns = (0..schema.fields().len()).filter(known).collect();
        }
        columns.sort_unstable();
        columns.dedup();
        let options = state.config_options();
        let known = StatisticsCache::from_options(options).cloned().unwrap_or_default();
        let context = session.task_ctx();
        let Some(scan) = scan else {
            return Ok(Self { context, known, scan, schema, columns, objects: Vec::new() });
        };
        let Some(table) = Objects::for_scan(&scan, options) else {
            return plan_err!(
                "{} is not in a bucket of one of the session's stores",
                analyze.table
            );
        };
        let found = {
            let (known, versions) = (known.clone(), table.versions.clone());
            SpawnedTask::spawn_blocking(move || known.find(&versions)).await
        };
        let found = found.map_err(|error| exec_datafusion_err!("{error}"))?;
        let listed = scan.file_groups.iter().flat_map(FileGroup::iter);
        let partitions: HashMap<_, _> =
            listed.map(|file| (&file.object_meta.location, &file.partition_values)).collect();
        let files = table.objects.iter().map(|object| {
            let mut file = PartitionedFile::from((*object).clone());
            if let Some(values) = partitions.get(&object.location) {
                file.partition_values.clone_from(values);
            }
            file
        });
        let objects = files.zip(table.versions).zip(found.objects);
        let objects = objects.map(|((file, version), known)| (file, version, known)).collect();
        Ok(Self { context, known, scan: Some(scan), schema, columns, objects })
    }

    fn is_missing(&self, known: Option<&ObjectStatistics>) -> bool {
        let has = |object: &ObjectStatistics, position: &usize| {
            let field = self.schema.field(*position);
            object.column(*position, field.name(), &field.data_type().to_string()).is_some()
        };
        !known.is_some_and(|object| {
            object.origin == Origin::Analyze
                && self.columns.iter().all(|position| has(object, position))
        })
    }

    fn missing(
        &self,
    ) -> impl Iterator<Item = &(PartitionedFile, Version, Option<Arc<ObjectStatistics>>)> {
        self.objects.iter().filter(|(_, _, known)| self.is_missing(known.as_deref()))
    }

    /// Returns the number and bytes of the objects to be read: those without statistics of their present version.
    #[must_use]
    pub fn work(&self) -> (usize, u64) {
        let sizes = self.missing().map(|(_, version, _)| version.size);
        sizes.fold((0, 0), |(objects, bytes), size| (objects + 1, bytes + size))
    }

    /// Reads several objects at once and stores the statistics of each as soon as it is read to the end. Returns the
    /// statistics of the table, one row per column.
    ///
    /// # Errors
    ///
    /// If an object cannot be read as part of the table. Statistics that are already stored remain.
    pub async fn run(&self) -> Result<RecordBatch> {
        let at_once = self.context.session_config().target_partitions().max(1);
        let batches = Arc::new(self.schema.project(&self.columns)?);
        let missing = self.missing().map(|(file, version, _)| (file.clone(), version.clone()));
        let work: Vec<_> = missing.zip(self.scan.iter().cycle().cloned()).collect();
        let work = futures::stream::iter(work).map(|((file, version), scan)| {
            let scan = FileScanConfigBuilder::from(scan)
                .with_file_groups(vec![FileGroup::new(vec![file])])
                .with_projection_indices(Some(self.columns.clone()));
            let (context, batches) = (Arc::clone(&self.context), Arc::clone(&batches));
            let (known, columns) = (self.known.clone(), self.columns.clone());
            let notes = context.session_config().get_extension::<Notes>();
            let read = SpawnedTask::spawn(async move {
                let scan = DataSourceExec::from_data_source(scan?.build());
                let mut rows = scan.execute(0, context)?;
                let mut collector = Collector::new(&batches, &columns)?;
                while let Some(batch) = rows.try_next().await? {
                    collector.push(&batch)?;
                    tokio::task::yield_now().await;
                }
                let object = ObjectStatistics {
                    about: version.about,
                    e_tag: version.e_tag,
                    size: version.size,
                    origin: Origin::Analyze,
                    taken: now(),
                    rows: collector.rows(),
                    seen: collector.rows(),
                    columns: collector.finish(),
                };
                // Failing to store statistics is not worth an error.
                if let (Err(error), Some(notes)) = (known.keep(object), notes) {
                    let why = error.message();
                    notes.add(format!("statistics are kept for this session only: {why}"));
                }
                Ok(())
            });
            async { read.join_unwind().await.map_err(|_| stopped()).and_then(|done| done) }
        });
        // Tasks start when they are spawned.
        work.buffer_unordered(at_once).try_collect::<Vec<()>>().await?;
        let versions: Vec<Version> =
            self.objects.iter().map(|(_, version, _)| version.clone()).collect();
        let known = self.known.clone();
        let found = SpawnedTask::spawn_blocking(move || known.find(&versions)).await;
        let found = found.map_err(|error| exec_datafusion_err!("{error}"))?;
        let objects: Vec<_> = found.objects.into_iter().flatten().collect();
        let rows = objects.iter().fold(0, |rows: u64, object| rows.saturating_add(object.rows));
        let columns = self.columns.iter().map(|position| {
            let field = self.schema.field(*position);
            Summary::for_column(*position, field.name(), &field.data_type().to_string(), &objects)
        });
        Summary::batch(&columns.collect::<Vec<_>>(), rows)
    }
}

fn stopped() -> DataFusionError {
    exec_datafusion_err!("ANALYZE was stopped")
}

/// Returns the scan of files that is the only leaf of a plan.
fn only_scan(plan: &Arc<dyn ExecutionPlan>) -> Option<FileScanConfig> {
    let (mut scans, mut leaves) = (Vec::new(), 0);
    let walked = plan.apply(|node| {
        leaves += usize::from(node.children().is_empty());
        let scan = node.downcast_ref::<DataSourceExec>();
        let scan = scan.and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
        scans.extend(scan.cloned());
        Ok(TreeNodeRecursion::Continue)
    });
    walked.ok()?;
    if leaves == 1 { scans.pop() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn analyze_names_a_table_and_perhaps_columns() {
        let parsed = |sql: &str| Analyze::parse(sql).map_err(|error| error.to_string());
        let check = |sql: &str, table: &str, columns: &[&str]| {
            let columns = columns.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(
                parsed(sql),
                Ok(Some(Analyze { table: table.to_owned(), columns })),
                "{sql}"
            );
        };
        check("ANALYZE TABLE t", "t", &[]);
        check(" analyze table a.b.\"C\" ; ", "a.b.\"C\"", &[]);
        check("ANALYZE TABLE 's3://b/k.csv' COLUMNS a", "'s3://b/k.csv'", &["a"]);
        check("ANALYZE TABLE t COLUMNS (A, \"B c\")", "t", &["a", "B c"]);
        assert_eq!(parsed("SELECT 1"), Ok(None));
        assert_eq!(parsed("EXPLAIN ANALYZE SELECT 1"), Ok(None));
        for bad in [
            "ANALYZE",
            "ANALYZE t",
            "ANALYZE TABLE",
            "ANALYZE TABLE t u",
            "ANALYZE TABLE t COLUMNS",
            "ANALYZE TABLE t COLUMNS a,",
            "ANALYZE TABLE t COLUMNS a b",
            "ANALYZE TABLE t COLUMNS ()",
        ] {
            assert!(parsed(bad).unwrap_err().contains("is written ANALYZE TABLE t"), "{bad}");
        }
        let query = parsed("ANALYZE TABLE t COLUMNS (a, \"b\"\"\")").unwrap().unwrap().query();
        assert_eq!(query, "SELECT \"a\", \"b\"\"\" FROM t");
    }
}
