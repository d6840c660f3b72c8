//! A run: a command of `sluice` whose output an experiment evaluates.

use serde::Serialize;

use crate::Peer;

/// A command of `sluice`, with the data and the store that it needs.
///
/// It runs in the folder of the evaluation. Each data set is a bucket there: `data/tpch/…` are the files of
/// `s3://tpch/…`, and `tpch.sql` has the statements that define its tables.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    /// The name of the run, unique in its experiment, such as `hybrid/theta=1.3`.
    pub name: String,
    /// The data sets that must be there.
    pub data: Vec<Data>,
    /// The link to the store; `None` if the run needs no store.
    pub link: Option<&'static str>,
    /// The command's arguments, without `sluice` or the name of another program.
    pub arguments: Vec<String>,
    /// The kind of output.
    pub output: RunOutput,
    /// True if the CPU time and the bytes of the command and of the store are sampled while it runs.
    pub is_sampled: bool,
    /// The arguments of a command of `sluice` whose output is the command's input.
    pub input: Option<Vec<String>>,
    /// The name under which several experiments share its output.
    pub shared: Option<&'static str>,
    /// The number of `sluice worker` processes that run parts of the queries.
    pub workers: usize,
    /// The program of others that the run needs. Without it the record is [missing](crate::Record::missing).
    pub peer: Option<Peer>,
}

/// The kind of output that a run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum RunOutput {
    /// JSON on stdout.
    Json,
    /// A [statement](crate::Statement) for each query of `sluice sql`, and the answers on stdout.
    Statements,
    /// The seconds of each statement of DuckDB, from the lines that `.timer on` prints, as a list.
    Timer,
}

/// A data set, made by `sluice generate` and the commands after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Data {
    /// The name of its bucket. Data sets that differ have different names.
    pub name: String,
    /// The arguments of `sluice generate`, without the destination.
    pub arguments: Vec<String>,
    /// Commands of `sluice` that complete the data set, such as those that create indexes.
    pub then: Vec<Vec<String>>,
}

/// A link that does not limit the store.
pub const UNLIMITED: &str = "unlimited";

impl Data {
    /// A data set by the words of its `sluice generate` command.
    #[must_use]
    pub fn new(name: impl Into<String>, arguments: &[&str]) -> Self {
        Self { name: name.into(), arguments: owned(arguments), then: Vec::new() }
    }

    /// Adds a command that completes the data set.
    #[must_use]
    pub fn then(mut self, arguments: &[&str]) -> Self {
        self.then.push(owned(arguments));
        self
    }

    /// Returns the name of the file that defines its tables.
    #[must_use]
    pub fn definitions(&self) -> String {
        format!("{}.sql", self.name)
    }

    /// Returns the arguments of the command that makes it, and writes its definitions to this file.
    pub(crate) fn generate(&self, definitions: &str) -> Vec<String> {
        let mut arguments = owned(&["generate"]);
        arguments.extend(self.arguments.iter().cloned());
        let place = format!("s3://{}", self.name);
        arguments.extend(owned(&["--to", &place, "--ddl", definitions]));
        arguments
    }
}

impl Run {
    /// A command without data or store that prints JSON.
    #[must_use]
    pub fn command(name: impl Into<String>, arguments: &[&str]) -> Self {
        Self {
            name: name.into(),
            data: Vec::new(),
            link: None,
            arguments: owned(arguments),
            output: RunOutput::Json,
            is_sampled: false,
            input: None,
            shared: None,
            workers: 0,
            peer: None,
        }
    }

    /// Queries over the tables of a data set, behind a link, each run `rounds` times after all others.
    #[must_use]
    pub fn sql(
        name: impl Into<String>,
        data: &Data,
        link: &'static str,
        settings: &[(&str, &str)],
        queries: &[String],
        rounds: usize,
    ) -> Self {
        let mut arguments = owned(&["sql", "--format", "csv", "-f"]);
        arguments.push(data.definitions());
        let mut add = |statement: String| arguments.extend(["-c".to_owned(), statement]);
        for (setting, value) in settings {
            add(format!("SET sluice.{setting} = '{value}'"));
        }
        for _ in 0..rounds.max(1) {
            queries.iter().cloned().for_each(&mut add);
        }
        Self {
            name: name.into(),
            data: vec![data.clone()],
            link: Some(link),
            arguments,
            output: RunOutput::Statements,
            is_sampled: false,
            input: None,
            shared: None,
            workers: 0,
            peer: None,
        }
    }

    /// Adds a data set.
    #[must_use]
    pub fn with_data(mut self, data: &Data) -> Self {
        self.data.push(data.clone());
        self
    }

    /// Runs it beside a store behind a link of this rate.
    #[must_use]
    pub const fn over(mut self, link: &'static str) -> Self {
        self.link = Some(link);
        self
    }

    /// Samples the CPU time and the bytes of the command and of the store.
    #[must_use]
    pub const fn sampled(mut self) -> Self {
        self.is_sampled = true;
        self
    }

    /// Reads the output of another command of `sluice` from its input.
    #[must_use]
    pub fn reading(mut self, arguments: &[&str]) -> Self {
        self.input = Some(owned(arguments));
        self
    }

    /// A command of `duckdb`, for each statement. The program runs in the folder of the evaluation, as others do.
    #[must_use]
    pub fn duckdb(name: impl Into<String>, data: &Data, statements: &[String]) -> Self {
        let mut run = Self::command(name, &["-json", "-c", ".timer on"]).with_data(data);
        run.arguments.extend(statements.iter().flat_map(|it| ["-c".to_owned(), it.clone()]));
        Self { output: RunOutput::Timer, peer: Some(Peer::DuckDb), ..run }
    }

    /// Runs it beside a `minio server` that has the data instead of our store.
    #[must_use]
    pub fn beside_minio(mut self) -> Self {
        self.arguments.extend(owned(&["--store", "minio"]));
        Self { link: None, peer: Some(Peer::Minio), ..self }
    }

    /// Runs parts of its queries in so many workers.
    #[must_use]
    pub const fn with_workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Shares its output with all experiments that have the same run under this name.
    #[must_use]
    pub const fn shared(mut self, name: &'static str) -> Self {
        self.shared = Some(name);
        self
    }

    /// Returns the command as it would be typed into a shell. Workers have fixed ports in it, unlike those of a runner.
    #[must_use]
    pub fn shell(&self) -> String {
        let workers: Vec<String> =
            (0..self.workers).map(|at| format!("http://{}", worker_address(at))).collect();
        let arguments = self.arguments_with(&workers);
        let command = match self.peer {
            Some(Peer::DuckDb) => typed_by(Peer::DuckDb.program(), &arguments),
            Some(Peer::Minio) | None => shell(&arguments),
        };
        match &self.input {
            Some(input) => format!("{} | {command}", shell(input)),
            None => command,
        }
    }

    /// Returns the commands that start the workers and the foreign store, as they would be typed into a shell.
    pub(crate) fn servers(&self) -> Vec<String> {
        let worker = |at| format!("sluice worker --listen {} &", worker_address(at));
        let minio = (self.peer == Some(Peer::Minio)).then(|| "minio server minio &".to_owned());
        minio.into_iter().chain((0..self.workers).map(worker)).collect()
    }

    /// Returns the arguments with the URLs of the workers.
    pub(crate) fn arguments_with(&self, workers: &[String]) -> Vec<String> {
        let mut arguments = self.arguments.clone();
        if !workers.is_empty() {
            let after = arguments.len().min(1);
            arguments.splice(after..after, ["--workers".to_owned(), workers.join(",")]);
        }
        arguments
    }
}

/// Returns the address of a worker in the commands that are shown. The runner takes free ports.
fn worker_address(at: usize) -> String {
    format!("127.0.0.1:{}", 9101 + at)
}

/// Returns a command of `sluice` as it would be typed into a shell.
#[must_use]
pub fn shell(arguments: &[String]) -> String {
    typed_by("sluice", arguments)
}

/// Returns a command of a program as it would be typed into a shell.
pub(crate) fn typed_by(program: &str, arguments: &[String]) -> String {
    let mut line = program.to_owned();
    for argument in arguments {
        line.push(' ');
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
        if !argument.is_empty() && argument.chars().all(is_plain) {
            line += argument;
        } else {
            line += &format!("'{}'", argument.replace('\'', "'\\''"));
        }
    }
    line
}

fn owned(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|&it| it.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_into_a_shell() {
        let data = Data::new("tpch", &["tpch", "--scale", "0.1"]);
        let queries = ["select 'it''s'".to_owned()];
        let run = Run::sql("a", &data, UNLIMITED, &[("scan", "get")], &queries, 2);
        let expected = "sluice sql --format csv -f tpch.sql -c 'SET sluice.scan = '\\''get'\\''' \
            -c 'select '\\''it'\\'''\\''s'\\''' -c 'select '\\''it'\\'''\\''s'\\'''";
        assert_eq!(run.shell(), expected);
        let theory = Run::command("b", &["switch", "theory"]);
        assert_eq!(theory.shell(), "sluice switch theory");
        let piped = theory.reading(&["generate", "queries"]).shell();
        assert_eq!(piped, "sluice generate queries | sluice switch theory");
        let spread = Run::command("c", &["sql", "select 1"]).with_workers(2);
        let typed = "sluice sql --workers http://127.0.0.1:9101,http://127.0.0.1:9102 'select 1'";
        assert_eq!(spread.shell(), typed);
        assert_eq!(spread.servers()[1], "sluice worker --listen 127.0.0.1:9102 &");
        let local = Run::duckdb("d", &data, &["select 1".to_owned()]);
        assert_eq!(local.shell(), "duckdb -json -c '.timer on' -c 'select 1'");
    }
}
