//! Renames names that P4 or the printed text reserves.

/// The keywords of P4_16.
const KEYWORDS: &[&str] = &[
    "abstract",
    "action",
    "actions",
    "apply",
    "bit",
    "bool",
    "const",
    "control",
    "default",
    "else",
    "entries",
    "enum",
    "error",
    "exit",
    "extern",
    "false",
    "header",
    "header_union",
    "if",
    "in",
    "inout",
    "int",
    "key",
    "list",
    "match_kind",
    "out",
    "package",
    "parser",
    "priority",
    "return",
    "select",
    "state",
    "string",
    "struct",
    "switch",
    "table",
    "this",
    "transition",
    "true",
    "tuple",
    "type",
    "typedef",
    "valueset",
    "varbit",
    "void",
];

/// Names of the architectures that the printed text uses, and names that it declares itself.
const PRINTED: &[&str] = &[
    "accept",
    "calc",
    "cell",
    "exact",
    "forward",
    "hash",
    "hdr",
    "hi",
    "index",
    "ip",
    "ig_dprsr_md",
    "ig_intr_md",
    "ig_prsr_md",
    "ig_tm_md",
    "lo",
    "mac",
    "mark_to_drop",
    "mem",
    "mem_hi",
    "mem_lo",
    "meta",
    "new_hi",
    "new_lo",
    "NoAction",
    "old",
    "packet",
    "pair_t",
    "port",
    "register",
    "reject",
    "set_port",
    "standard_metadata",
    "ternary",
];

/// Locals that the printed text numbers, and the compiler's names of hash calls.
const NUMBERED: &[&str] = &["arg", "calc_", "entry", "hash", "output", "result", "rv", "v"];

/// Returns `name`, with a trailing underscore if P4 or the printed text reserves the word.
pub(super) fn identifier(name: &str) -> String {
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    let numbered = NUMBERED.iter().any(|n| name.strip_prefix(n).is_some_and(is_number));
    let taken = numbered || KEYWORDS.contains(&name) || PRINTED.contains(&name);
    if taken { format!("{name}_") } else { name.to_owned() }
}
