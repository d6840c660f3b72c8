//! `sluice explain`

use std::io::{self, Write};

use sluicegate_engine::Engine;

use crate::args::ExplainArgs;
use crate::commands::sql::script;
use crate::failure::{Failure, Result};
use crate::output::stats;
use crate::session::statements;
use crate::session::{is_query, place};

pub(crate) async fn run(args: ExplainArgs) -> Result<()> {
    let Some(script) = script(&args.statements)? else {
        return Err(Failure::Usage("there is nothing to explain; give a query with -c".to_owned()));
    };
    let engine = args.connect.connect().await?;
    let statements = statements::all(&script);
    for (index, statement) in statements.iter().enumerate() {
        let explained = explain(&engine, statement).await;
        explained.map_err(|failure| match statements.len() {
            1 => failure,
            _ => failure.at(&place(index, statement)),
        })?;
    }
    Ok(())
}

async fn explain(engine: &Engine, statement: &str) -> Result<()> {
    if !is_query(engine, statement).await? {
        let definition = Box::pin(engine.query(statement)).await?;
        Box::pin(definition.collect()).await?;
        return Ok(());
    }
    let explanation = Box::pin(engine.explain(statement)).await?;
    let endpoint = engine.endpoint();
    let estimate = explanation.estimate();
    let prediction =
        stats::prediction(&estimate, &endpoint.hardware.introduction(), &endpoint.prices);
    write!(io::stdout(), "{explanation}{prediction}")?;
    Ok(())
}
