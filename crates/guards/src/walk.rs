//! Walks syntax trees of sqlparser with visitors that are chosen at run time.
//!
//! The traversal of sqlparser is generic over the visitor. It has a function for each of some 650 types of nodes, so each
//! type of visitor would add 150,000 lines of code to compile. Here, the traversal is compiled once for each `Break` type.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut,
    Visitor, VisitorMut,
};

/// Reads a syntax tree.
pub trait Walk: Visit {
    /// Passes each node to the visitor, until the visitor ends the walk.
    fn walk<B>(&self, visitor: &mut dyn Visitor<Break = B>) -> ControlFlow<B> {
        self.visit(&mut AnyVisitor(visitor))
    }

    /// Passes each expression to `see` before its operands, until `see` ends the walk.
    fn walk_expressions<B>(&self, see: &mut dyn FnMut(&Expr) -> ControlFlow<B>) -> ControlFlow<B> {
        self.walk(&mut Expressions(see))
    }
}

impl<T: Visit + ?Sized> Walk for T {}

/// Changes a syntax tree.
pub trait WalkMut: VisitMut {
    /// Passes each node to the visitor, until the visitor ends the walk.
    fn walk_mut<B>(&mut self, visitor: &mut dyn VisitorMut<Break = B>) -> ControlFlow<B> {
        self.visit(&mut AnyVisitorMut(visitor))
    }

    /// Passes each expression to `change` after its operands, until `change` ends the walk.
    fn walk_expressions_mut<B>(
        &mut self,
        change: &mut dyn FnMut(&mut Expr) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        self.walk_mut(&mut ExpressionsMut(change))
    }
}

impl<T: VisitMut + ?Sized> WalkMut for T {}

struct Expressions<'a, B>(&'a mut dyn FnMut(&Expr) -> ControlFlow<B>);

impl<B> Visitor for Expressions<'_, B> {
    type Break = B;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
        (self.0)(expr)
    }
}

struct ExpressionsMut<'a, B>(&'a mut dyn FnMut(&mut Expr) -> ControlFlow<B>);

impl<B> VisitorMut for ExpressionsMut<'_, B> {
    type Break = B;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<B> {
        (self.0)(expr)
    }
}

struct AnyVisitor<'a, B>(&'a mut dyn Visitor<Break = B>);

struct AnyVisitorMut<'a, B>(&'a mut dyn VisitorMut<Break = B>);

/// Forwards methods of a visitor, each with the type of its node.
macro_rules! forward {
    ($($method:ident: $node:ty,)+) => {
        $(fn $method(&mut self, node: $node) -> ControlFlow<B> {
            self.0.$method(node)
        })+
    };
}

impl<B> Visitor for AnyVisitor<'_, B> {
    type Break = B;

    forward! {
        pre_visit_query: &Query,
        post_visit_query: &Query,
        pre_visit_select: &Select,
        post_visit_select: &Select,
        pre_visit_relation: &ObjectName,
        post_visit_relation: &ObjectName,
        pre_visit_table_factor: &TableFactor,
        post_visit_table_factor: &TableFactor,
        pre_visit_expr: &Expr,
        post_visit_expr: &Expr,
        pre_visit_statement: &Statement,
        post_visit_statement: &Statement,
        pre_visit_value: &ValueWithSpan,
        post_visit_value: &ValueWithSpan,
    }
}

impl<B> VisitorMut for AnyVisitorMut<'_, B> {
    type Break = B;

    forward! {
        pre_visit_query: &mut Query,
        post_visit_query: &mut Query,
        pre_visit_select: &mut Select,
        post_visit_select: &mut Select,
        pre_visit_relation: &mut ObjectName,
        post_visit_relation: &mut ObjectName,
        pre_visit_table_factor: &mut TableFactor,
        post_visit_table_factor: &mut TableFactor,
        pre_visit_expr: &mut Expr,
        post_visit_expr: &mut Expr,
        pre_visit_statement: &mut Statement,
        post_visit_statement: &mut Statement,
        pre_visit_value: &mut ValueWithSpan,
        post_visit_value: &mut ValueWithSpan,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    const SQL: &str = "WITH c AS (SELECT a FROM t WHERE a > 1) \
                       SELECT x + 1, (SELECT max(y) FROM u) FROM c JOIN v ON c.a = v.a WHERE x IN (2, 3)";

    /// Counts the nodes of each kind: queries, selects, relations, table factors, expressions, statements and values.
    #[derive(Default, Debug, PartialEq)]
    struct Count([usize; 14]);

    macro_rules! count {
        ($($method:ident: $node:ty = $at:literal,)+) => {
            type Break = ();
            $(fn $method(&mut self, _node: $node) -> ControlFlow<()> {
                self.0[$at] += 1;
                ControlFlow::Continue(())
            })+
        };
    }

    impl Visitor for Count {
        count! {
            pre_visit_query: &Query = 0,
            post_visit_query: &Query = 1,
            pre_visit_select: &Select = 2,
            post_visit_select: &Select = 3,
            pre_visit_relation: &ObjectName = 4,
            post_visit_relation: &ObjectName = 5,
            pre_visit_table_factor: &TableFactor = 6,
            post_visit_table_factor: &TableFactor = 7,
            pre_visit_expr: &Expr = 8,
            post_visit_expr: &Expr = 9,
            pre_visit_statement: &Statement = 10,
            post_visit_statement: &Statement = 11,
            pre_visit_value: &ValueWithSpan = 12,
            post_visit_value: &ValueWithSpan = 13,
        }
    }

    impl VisitorMut for Count {
        count! {
            pre_visit_query: &mut Query = 0,
            post_visit_query: &mut Query = 1,
            pre_visit_select: &mut Select = 2,
            post_visit_select: &mut Select = 3,
            pre_visit_relation: &mut ObjectName = 4,
            post_visit_relation: &mut ObjectName = 5,
            pre_visit_table_factor: &mut TableFactor = 6,
            post_visit_table_factor: &mut TableFactor = 7,
            pre_visit_expr: &mut Expr = 8,
            post_visit_expr: &mut Expr = 9,
            pre_visit_statement: &mut Statement = 10,
            post_visit_statement: &mut Statement = 11,
            pre_visit_value: &mut ValueWithSpan = 12,
            post_visit_value: &mut ValueWithSpan = 13,
        }
    }

    /// A method that is not forwarded would be counted less often.
    #[test]
    fn a_walk_calls_all_methods_that_a_visit_calls() {
        let mut statements = Parser::parse_sql(&GenericDialect {}, SQL).unwrap();
        let (mut visited, mut walked, mut changed) =
            (Count::default(), Count::default(), Count::default());
        assert!(statements.visit(&mut visited).is_continue());
        assert!(statements.walk(&mut walked).is_continue());
        assert!(statements.walk_mut(&mut changed).is_continue());
        assert_eq!((&walked, &changed), (&visited, &visited));
        assert!(visited.0.iter().all(|count| *count > 0), "{visited:?}");
    }
}
