//! Column order of COPY when it appends to a folder: the rows get the columns of the files there, in their order.
//!
//! CSV columns are read by position, so rows with other columns would make the folder unreadable. In Parquet, the
//! missing columns of a file would be NULL.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::{Column, Result, TableReference};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::logical_expr::dml::CopyTo;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::context::listing::{implies_format, is_hidden, with_subfolders};
use crate::{ErrorKind, UserError};

/// The option that has the columns which partition the objects written in them, too.
const KEEPS: &str = "execution.keep_partition_by_columns";

/// Projects the copied columns into the order of the first file of the same format at the place.
///
/// # Errors
///
/// If the file has columns of other names, or the place cannot be listed.
pub(crate) async fn as_there(copy: &mut CopyTo, session: &SessionContext) -> Result<()> {
    let kind = copy.file_type.get_ext().trim_start_matches('.').to_ascii_lowercase();
    if !["csv", "parquet"].contains(&kind.as_str()) {
        return Ok(());
    }
    let Some((file, there)) = first(copy, session, &kind).await? else { return Ok(()) };
    let columns = copy.input.schema().fields().iter().map(|field| field.name().as_str());
    let keeps = keeps_partitions(copy, session.state().config_options());
    let is_folder = |name: &str| !keeps && copy.partition_by.iter().any(|it| it == name);
    let (folders, written): (Vec<&str>, Vec<&str>) = columns.partition(|name| is_folder(name));
    let there: Vec<&str> = there.iter().map(String::as_str).collect();
    if written == there {
        return Ok(());
    }
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    if written.len() != there.len() || set(&written) != set(&there) {
        let told = UserError {
            kind: ErrorKind::Data,
            message: format!(
                "`{file}` has the columns {}, and COPY would append rows with {}",
                there.join(", "),
                written.join(", ")
            ),
            hint: Some(
                "Call them alike: COPY (SELECT … AS …) TO …; or write to another folder, and put both together with \
                 UNION ALL BY NAME."
                    .to_owned(),
            ),
        };
        return Err(told.into());
    }
    let ordered = there.iter().chain(&folders).map(|name| {
        let (table, field) = copy.input.schema().qualified_field_with_unqualified_name(name)?;
        Ok(Expr::Column(Column::new(table.cloned(), field.name())))
    });
    let ordered = ordered.collect::<Result<Vec<Expr>>>()?;
    let input = LogicalPlanBuilder::from(Arc::clone(&copy.input)).project(ordered)?.build()?;
    copy.input = Arc::new(input);
    Ok(())
}

/// Returns whether COPY also writes the partition columns into the objects.
pub(crate) fn keeps_partitions(copy: &CopyTo, options: &ConfigOptions) -> bool {
    copy.options.get(KEEPS).map_or(
        options.execution.keep_partition_by_columns,
        // Planning refuses all values but `true` and `false`.
        |said| !said.eq_ignore_ascii_case("false"),
    )
}

/// Returns the first file at the place of a COPY with its columns, or `None` if there is no file, or its columns
/// cannot be inferred.
async fn first(
    copy: &CopyTo,
    session: &SessionContext,
    kind: &str,
) -> Result<Option<(Path, Vec<String>)>> {
    let place = ListingTableUrl::parse(&copy.output_url)?;
    let state = session.state();
    let store = state.runtime_env().object_store(&place)?;
    let everything = with_subfolders(&state);
    let there = place.list_all_files(&everything, store.as_ref(), "").await?;
    let mut there: Vec<ObjectMeta> = there.try_collect().await?;
    there.retain(|object| {
        let path = &object.location;
        object.size > 0 && !is_hidden(path) && implies_format(path, kind)
    });
    there.sort_by(|one, other| one.location.cmp(&other.location));
    let Some(ObjectMeta { location, .. }) = there.into_iter().next() else { return Ok(None) };
    let root = place.object_store();
    let url = match root.as_str().strip_prefix("file://") {
        Some(root) => format!("{root}{location}"),
        None => format!("{}{location}", root.as_str()),
    };
    // A file that is unreadable alone is unreadable beside others, too.
    let Ok(table) = session.table_provider(TableReference::bare(url)).await else {
        return Ok(None);
    };
    let names = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    Ok(Some((location, names)))
}
