//! The ten items of the figure.

use crate::tpch;

/// The operator whose strategies the paper compares in an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// Selects the rows that pass a condition.
    Filter,
    /// Aggregates all rows.
    Aggregate,
    /// Aggregates groups of rows.
    GroupBy,
    /// Selects the best rows.
    TopK,
    /// Combines rows of two and more tables with the same keys.
    Join,
}

/// An item of the figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Item {
    /// The label in the figure.
    pub name: &'static str,
    /// The operator that the item measures.
    pub operator: Operator,
    /// One statement without a semicolon.
    pub sql: &'static str,
}

/// The items in the order of the figure.
///
/// The paper gives no text for the first four. These are the statements in the authors' code, with the selectivity,
/// the skew, the K and the bound of the figure. The statements here define an order for ties. The filter has no index
/// to use. The queries of TPC-H have the authors' parameters.
pub const ITEMS: [Item; 10] = [
    Item { name: "Filter", operator: Operator::Filter, sql: include_str!("queries/filter.sql") },
    Item {
        name: "Group-by",
        operator: Operator::GroupBy,
        sql: include_str!("queries/group_by.sql"),
    },
    Item { name: "Top-K", operator: Operator::TopK, sql: include_str!("queries/top_k.sql") },
    Item { name: "Join", operator: Operator::Join, sql: include_str!("queries/join.sql") },
    Item { name: "Q1", operator: Operator::GroupBy, sql: include_str!("queries/q01.sql") },
    Item { name: "Q3", operator: Operator::Join, sql: include_str!("queries/q03.sql") },
    Item { name: "Q6", operator: Operator::Aggregate, sql: include_str!("queries/q06.sql") },
    Item { name: "Q14", operator: Operator::Join, sql: include_str!("queries/q14.sql") },
    Item { name: "Q17", operator: Operator::Join, sql: include_str!("queries/q17.sql") },
    Item { name: "Q19", operator: Operator::Join, sql: include_str!("queries/q19.sql") },
];

/// The tables of TPC-H that the items read.
pub const TPCH_TABLES: [tpch::Table; 4] =
    [tpch::Table::Customer, tpch::Table::Lineitem, tpch::Table::Orders, tpch::Table::Part];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DataTable;
    use crate::pushdowndb::Table;

    fn item(name: &str) -> Item {
        ITEMS.into_iter().find(|item| item.name == name).unwrap()
    }

    #[test]
    fn each_item_is_one_statement_over_the_tables() {
        let here: Vec<&str> = TPCH_TABLES.iter().map(|table| table.name()).collect();
        for Item { name, sql, .. } in ITEMS {
            assert!(sql.to_lowercase().starts_with("select"), "{name}");
            assert!(!sql.contains([';', '\t']) && sql.ends_with('\n'), "{name}");
            let known = |table: &str| sql.split(|c: char| !c.is_alphanumeric()).any(|w| w == table);
            for table in tpch::Table::ALL {
                assert!(here.contains(&table.name()) || !known(table.name()), "{name}: {table}");
            }
            let read = here.iter().any(|table| known(table)) || known(Table::Skewed.name());
            assert!(read, "{name}");
        }
    }

    /// The wording is that of TPC-H, except for numbers, dates and names in quotes.
    #[test]
    fn queries_differ_from_tpch_in_parameters_only() {
        let words = |text: &str| {
            let text = text.replace(['(', ')', ','], " ");
            let words = text.split_whitespace().map(|word| {
                let parameter = word.starts_with(|c: char| c.is_ascii_digit() || c == '\'');
                if parameter { "?".to_owned() } else { word.to_owned() }
            });
            let mut words: Vec<String> = words.collect();
            // A name in quotes may be several words.
            words.retain(|word| !word.ends_with('\''));
            words.dedup();
            words
        };
        for number in [1, 3, 6, 14, 17, 19] {
            let item = item(&format!("Q{number}"));
            let tpch = tpch::query(number).unwrap();
            assert_eq!(words(item.sql), words(tpch), "{number}");
            assert_ne!(item.sql, tpch, "{number}");
        }
    }
}
