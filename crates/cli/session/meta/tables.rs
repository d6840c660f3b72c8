//! `\d`: lists the tables, or the columns of one.

use std::io::{self, Write};

use crate::failure::Result;
use crate::session::Session;

/// Lists the tables.
pub(super) async fn list(session: &mut Session<'_>) -> Result<()> {
    let sql = "SELECT table_schema AS schema, table_name AS name, table_type AS type \
               FROM information_schema.tables WHERE table_schema <> 'information_schema' \
               ORDER BY 1, 2";
    let answer = session.query(sql).await?;
    if answer.iter().all(|batch| batch.num_rows() == 0) {
        writeln!(io::stdout(), "There are none yet; CREATE EXTERNAL TABLE makes one.")?;
        return Ok(());
    }
    session.output.show(&answer)
}

/// Lists the columns of a table, which the user may name by its URL.
pub(super) async fn describe(session: &mut Session<'_>, table: &str) -> Result<()> {
    let named = match table.contains("://") && !table.starts_with(['\'', '"']) {
        true => format!("'{}'", table.replace('\'', "''")),
        false => table.to_owned(),
    };
    let answer = session.query(&format!("DESCRIBE {named}")).await;
    session.print_notes(&mut Vec::new());
    session.output.show(&answer?)
}
