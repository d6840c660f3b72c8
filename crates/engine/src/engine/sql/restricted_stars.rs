//! `* ILIKE 'pattern'`, `* EXCLUDE (…)` and `* REPLACE (… AS name)`.
//!
//! DataFusion ignores ILIKE and the names of REPLACE that are no columns, and compares names of EXCLUDE with their
//! letter case. The columns of a `*` are known only when its tables are planned. Therefore [`mark`] makes each such `*`
//! exclude a column that no table has; the error of the planner then lists the columns, with which [`resolve`] restricts
//! the `*`, and the statement is planned again.

use std::ops::ControlFlow;

use arrow::array::{Scalar, StringArray};
use arrow::compute::ilike;
use datafusion::common::{Column, DataFusionError, Result, SchemaError};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    ExceptSelectItem, ExcludeSelectItem, Ident, ObjectName, ObjectNamePart, ReplaceSelectItem,
    Select, SelectItem, SelectItemQualifiedWildcardKind, VisitorMut, WildcardAdditionalOptions,
};

use crate::context::error::{ErrorKind, UserError, are_similar};
use sluicegate_guards::column_names::is_same;
use sluicegate_guards::{normal, visit};

/// The beginning of the excluded names. No table has a column with this character.
const MARK: &str = "\u{1}star ";

/// Makes each `*` with ILIKE or REPLACE exclude a column that does not exist.
pub(crate) fn mark(statement: &mut Statement) {
    let _ = visit(statement, &mut Marks(0));
}

struct Marks(usize);

impl VisitorMut for Marks {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for (_, options) in select.projection.iter_mut().filter_map(star) {
            if options.opt_ilike.is_some() || options.opt_replace.is_some() {
                self.0 += 1;
                exclude(options, vec![Ident::with_quote('"', format!("{MARK}{}", self.0))]);
            }
        }
        ControlFlow::Continue(())
    }
}

/// Restricts the `*` whose excluded column an error reports as missing. Returns whether there was such a `*`.
///
/// # Errors
///
/// If no column matches ILIKE, or REPLACE names a column twice or none that exists.
pub(crate) fn resolve(statement: &mut Statement, error: &DataFusionError) -> Result<bool> {
    let DataFusionError::SchemaError(error, _) = error.find_root() else { return Ok(false) };
    let SchemaError::FieldNotFound { field, valid_fields } = error.as_ref() else {
        return Ok(false);
    };
    let mut resolved = Resolved { missing: &field.name, columns: valid_fields, found: false };
    match visit(statement, &mut resolved) {
        ControlFlow::Continue(()) => Ok(resolved.found),
        ControlFlow::Break(told) => Err(told.into()),
    }
}

/// Replaces the error of a name of EXCLUDE that several tables have.
pub(crate) fn explained(statement: &mut Statement, error: DataFusionError) -> DataFusionError {
    let field = match error.find_root() {
        DataFusionError::SchemaError(cause, _) => match cause.as_ref() {
            SchemaError::AmbiguousReference { field } => field.name.clone(),
            _ => return error,
        },
        _ => return error,
    };
    let mut names = Excluded { name: &field, found: false };
    let _ = visit(statement, &mut names);
    if !names.found {
        return error;
    }
    UserError {
        kind: ErrorKind::Plan,
        message: format!("several tables have the column {field}, which * does not show"),
        hint: Some(format!(
            "Name the tables: a.* EXCLUDE ({field}), b.* EXCLUDE ({field}); or their columns."
        )),
    }
    .into()
}

/// Looks for a name that a `*` excludes.
struct Excluded<'a> {
    name: &'a str,
    found: bool,
}

impl VisitorMut for Excluded<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let mut stars = select.projection.iter_mut().filter_map(star);
        self.found |= stars
            .any(|(_, options)| excluded(options).into_iter().any(|name| name.value == self.name));
        ControlFlow::Continue(())
    }
}

struct Resolved<'a> {
    /// The excluded column that is missing.
    missing: &'a str,
    /// The columns of all tables of the `*`.
    columns: &'a [Column],
    found: bool,
}

impl VisitorMut for Resolved<'_> {
    type Break = UserError;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<UserError> {
        for (table, options) in select.projection.iter_mut().filter_map(star) {
            let is_of = |column: &&Column| match (&table, &column.relation) {
                (Some(table), Some(relation)) => relation.table() == table,
                _ => true,
            };
            let names = self.columns.iter().filter(is_of).map(|column| column.name.as_str());
            let names: Vec<&str> = names.collect();
            if unmark(options, self.missing) {
                self.found = true;
                if let Err(told) = restrict(options, &names) {
                    return ControlFlow::Break(told);
                }
            }
            for excluded in excluded(options) {
                let is_missing = excluded.quote_style.is_none() && excluded.value == self.missing;
                if is_missing && let Some(name) = named(excluded, &names) {
                    *excluded = Ident::with_quote('"', name);
                    self.found = true;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the options of `*` or `t.*`, and the name of its table.
fn star(item: &mut SelectItem) -> Option<(Option<String>, &mut WildcardAdditionalOptions)> {
    match item {
        SelectItem::Wildcard(options) => Some((None, options)),
        SelectItem::QualifiedWildcard(kind, options) => {
            let table = match kind {
                SelectItemQualifiedWildcardKind::ObjectName(name) => {
                    name.0.last().and_then(ObjectNamePart::as_ident).map(normal)
                }
                SelectItemQualifiedWildcardKind::Expr(_) => None,
            };
            Some((table, options))
        }
        _ => None,
    }
}

/// Returns the names that a `*` excludes.
fn excluded(options: &mut WildcardAdditionalOptions) -> Vec<&mut Ident> {
    let mut names = Vec::new();
    if let Some(ExceptSelectItem { first_element, additional_elements }) = &mut options.opt_except {
        names.push(first_element);
        names.extend(additional_elements);
    }
    let listed: &mut [ObjectName] = match &mut options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => std::slice::from_mut(name),
        Some(ExcludeSelectItem::Multiple(names)) => names,
        None => &mut [],
    };
    names.extend(listed.iter_mut().filter_map(|name| match name.0.as_mut_slice() {
        [ObjectNamePart::Identifier(name)] => Some(name),
        _ => None,
    }));
    names
}

/// Adds names to those that a `*` excludes.
fn exclude(options: &mut WildcardAdditionalOptions, names: Vec<Ident>) {
    let before = options.opt_except.take();
    let before = before
        .into_iter()
        .flat_map(|it| std::iter::once(it.first_element).chain(it.additional_elements));
    let mut names = before.chain(names);
    options.opt_except = names.next().map(|first_element| ExceptSelectItem {
        first_element,
        additional_elements: names.collect(),
    });
}

/// Removes a mark. Returns whether a `*` had it.
fn unmark(options: &mut WildcardAdditionalOptions, mark: &str) -> bool {
    if !mark.starts_with(MARK) {
        return false;
    }
    let Some(ExceptSelectItem { first_element, additional_elements }) = options.opt_except.take()
    else {
        return false;
    };
    let names = std::iter::once(first_element).chain(additional_elements);
    let (marks, names): (Vec<Ident>, Vec<Ident>) = names.partition(|name| name.value == mark);
    exclude(options, names);
    !marks.is_empty()
}

/// Replaces ILIKE by the columns that it excludes, and names the columns of REPLACE exactly.
fn restrict(options: &mut WildcardAdditionalOptions, names: &[&str]) -> Result<(), UserError> {
    let hidden: Vec<String> =
        excluded(options).into_iter().filter_map(|name| named(name, names)).collect();
    if let Some(replace) = &mut options.opt_replace {
        name_replaced(replace, names, &hidden)?;
    }
    let Some(pattern) = options.opt_ilike.take().map(|ilike| ilike.pattern) else { return Ok(()) };
    let texts = StringArray::from(names.to_vec());
    let matches = ilike(&texts, &Scalar::new(StringArray::from(vec![pattern.as_str()])))
        .map_err(|error| told(format!("* ILIKE '{pattern}' is no pattern: {error}"), names))?;
    let matches = |at: usize| matches.value(at);
    if !(0..names.len()).any(matches) {
        return Err(told(format!("no column matches * ILIKE '{pattern}'"), names));
    }
    let already: Vec<String> =
        excluded(options).into_iter().map(|name| name.value.clone()).collect();
    let mut others: Vec<&str> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        if !matches(at) && !others.contains(name) && !already.iter().any(|it| it == name) {
            others.push(name);
        }
    }
    exclude(options, others.into_iter().map(|name| Ident::with_quote('"', name)).collect());
    Ok(())
}

/// Gives the columns of REPLACE the names that they have in the table. `hidden` are those of EXCLUDE.
fn name_replaced(
    replace: &mut ReplaceSelectItem,
    names: &[&str],
    hidden: &[String],
) -> Result<(), UserError> {
    let mut before: Vec<String> = Vec::new();
    for item in &mut replace.items {
        let typed = item.column_name.value.clone();
        let Some(name) = named(&item.column_name, names) else {
            let near =
                names.iter().find(|name| are_similar(&name.to_lowercase(), &typed.to_lowercase()));
            let meant = near.map_or_else(String::new, |name| format!("Did you mean {name}? "));
            let hint = format!(
                "{meant}The columns are {}; SELECT *, {} AS {typed} adds one.",
                names.join(", "),
                item.expr
            );
            return Err(UserError {
                kind: ErrorKind::Plan,
                message: format!("* REPLACE names `{typed}`, and there is no such column"),
                hint: Some(hint),
            });
        };
        if before.contains(&name) {
            return Err(told(format!("* REPLACE names the column {name} twice"), names));
        }
        if hidden.contains(&name) {
            return Err(told(format!("* EXCLUDE and REPLACE both name the column {name}"), names));
        }
        before.push(name.clone());
        item.column_name = Ident::with_quote('"', name);
    }
    Ok(())
}

/// Returns the column that a name means: the one with its lower-case form, or else the only one that differs in case.
fn named(name: &Ident, names: &[&str]) -> Option<String> {
    let typed = normal(name);
    if names.contains(&typed.as_str()) {
        return Some(typed);
    }
    if name.quote_style.is_some() {
        return None;
    }
    let mut found = names.iter().filter(|other| is_same(other, &typed));
    match (found.next(), found.next()) {
        (Some(name), None) => Some((*name).to_owned()),
        _ => None,
    }
}

fn told(message: String, names: &[&str]) -> UserError {
    let hint = format!("The columns are {}.", names.join(", "));
    UserError { kind: ErrorKind::Plan, message, hint: Some(hint) }
}
