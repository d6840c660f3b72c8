//! Traverses expressions.

use super::ast::Expr;

impl Expr {
    /// The direct operands of the expression, in the order of the text. `CASE` gives its operand, then WHEN and THEN
    /// of each branch, then ELSE.
    #[must_use]
    pub fn children(&self) -> Vec<&Self> {
        match self {
            Self::Literal(_) | Self::Path(_) => Vec::new(),
            Self::Unary { expr, .. } | Self::Is { expr, .. } | Self::Cast { expr, .. } => {
                vec![expr]
            }
            Self::Binary { left, right, .. } => vec![left, right],
            Self::Between { expr, low, high, .. } => vec![expr, low, high],
            Self::Like { expr, pattern, escape, .. } => {
                [expr, pattern].into_iter().chain(escape).map(|child| &**child).collect()
            }
            Self::In { expr, list, .. } => std::iter::once(&**expr).chain(list).collect(),
            Self::Case { operand, branches, otherwise } => operand
                .iter()
                .map(|child| &**child)
                .chain(branches.iter().flat_map(|(when, then)| [when, then]))
                .chain(otherwise.iter().map(|child| &**child))
                .collect(),
            Self::Call { args, .. } => args.iter().collect(),
            Self::Aggregate { arg, .. } => arg.iter().map(|child| &**child).collect(),
        }
    }
}
