//! Parses the printed P4_16 like a compiler: names, types, widths. It supports only the part of the language that the
//! printer writes.

mod architecture;
mod expression;
mod tokens;

use std::collections::{HashMap, HashSet};

use super::Arch;
use tokens::{Token, tokens};

/// The parts of a program that the tests examine.
#[derive(Debug, Default)]
pub(super) struct Structure {
    /// The calls of `hash`, in the order of the text.
    pub hash_calls: Vec<HashCall>,
    /// For each table, the widths of the fields and arguments in its entries.
    pub tables: HashMap<String, Vec<u32>>,
    pub actions: HashMap<String, Vec<Type>>,
}

/// A call of `hash`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HashCall {
    pub action: String,
    pub to: String,
    pub algorithm: String,
}

/// A type, as far as the printed text needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Type {
    Bits(u32),
    /// A literal without a width, which takes that of its surroundings.
    Int(u128),
    Bool,
    List(Vec<Type>),
    Named(String, Vec<Type>),
    /// Fits anything: the result of a generic method.
    Any,
}

struct Local {
    kind: Type,
    /// The line of its declaration, if it must be read.
    unread: Option<usize>,
}

type Fallible<T = ()> = Result<T, String>;

/// Parses a program, or returns an error that a compiler would report.
pub(super) fn read(text: &str, arch: Arch) -> Fallible<Structure> {
    let (tokens, includes) = tokens(text);
    if includes != ["core.p4".to_owned(), format!("{arch}.p4")] {
        return Err(format!("{includes:?} are included"));
    }
    let mut structs: HashMap<String, Vec<(String, Type)>> = HashMap::new();
    for (of, field, bits) in architecture::FIELDS {
        structs.entry(of.to_owned()).or_default().push((field.to_owned(), Type::Bits(bits)));
    }
    let mut reader = Reader {
        tokens,
        at: 0,
        arch,
        top: HashSet::new(),
        structs,
        scopes: Vec::new(),
        action: String::new(),
        found: Structure::default(),
    };
    match reader.program() {
        Ok(()) => Ok(reader.found),
        Err(error) => Err(format!("line {}: {error}", reader.line())),
    }
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
    arch: Arch,
    top: HashSet<String>,
    structs: HashMap<String, Vec<(String, Type)>>,
    scopes: Vec<HashMap<String, Local>>,
    /// The action being read.
    action: String,
    found: Structure,
}

impl Reader {
    fn line(&self) -> usize {
        self.tokens.get(self.at.min(self.tokens.len() - 1)).map_or(0, |token| token.line)
    }

    fn peek(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", |token| &token.text)
    }

    fn is_word(&self, ahead: usize) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(Token::is_word)
    }

    fn next(&mut self) -> String {
        self.at += 1;
        self.tokens.get(self.at - 1).map_or_else(String::new, |token| token.text.clone())
    }

    fn accept(&mut self, text: &str) -> bool {
        let found = self.peek(0) == text;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, text: &str) -> Fallible {
        let found = self.peek(0).to_owned();
        if self.accept(text) { Ok(()) } else { Err(format!("`{text}` expected, not `{found}`")) }
    }

    fn word(&mut self) -> Fallible<String> {
        if self.is_word(0) {
            Ok(self.next())
        } else {
            Err(format!("a name expected, not `{}`", self.peek(0)))
        }
    }

    fn number(&mut self) -> Fallible<u32> {
        let text = self.next();
        text.parse().map_err(|_| format!("a number expected, not `{text}`"))
    }

    fn program(&mut self) -> Fallible {
        while self.at < self.tokens.len() {
            match self.next().as_str() {
                "header" | "struct" => {
                    let name = self.declare_top()?;
                    self.expect("{")?;
                    let mut fields = Vec::new();
                    while !self.accept("}") {
                        let kind = self.kind()?;
                        fields.push((self.word()?, kind));
                        self.expect(";")?;
                    }
                    self.structs.insert(name, fields);
                }
                "parser" => self.parser()?,
                "control" => self.control()?,
                _ => {
                    // This is a package, made of parsers and controls.
                    self.at -= 1;
                    let package = self.word()?;
                    self.of_architecture(&package)?;
                    self.expect("(")?;
                    while !self.accept(")") {
                        let part = self.word()?;
                        if !self.top.contains(&part) {
                            return Err(format!("`{part}` is not declared"));
                        }
                        if self.accept("(") {
                            self.expect(")")?;
                        }
                        self.accept(",");
                    }
                    self.declare_top()?;
                    self.expect(";")?;
                }
            }
        }
        Ok(())
    }

    fn of_architecture(&self, name: &str) -> Fallible {
        if architecture::declares(self.arch, name) {
            return Ok(());
        }
        Err(format!("{} does not declare `{name}`", self.arch))
    }

    fn declare_top(&mut self) -> Fallible<String> {
        let name = self.word()?;
        if architecture::declares(self.arch, &name) || !self.top.insert(name.clone()) {
            return Err(format!("`{name}` is declared again"));
        }
        Ok(name)
    }

    /// Declares a name in the innermost scope.
    fn declare(&mut self, name: &str, kind: Type, must_be_read: bool) -> Fallible {
        let unread = must_be_read.then_some(self.line());
        let scope = self.scopes.last_mut().ok_or("no scope")?;
        if scope.insert(name.to_owned(), Local { kind, unread }).is_some() {
            return Err(format!("`{name}` is declared again"));
        }
        Ok(())
    }

    fn leave(&mut self) -> Fallible {
        let scope = self.scopes.pop().ok_or("no scope")?;
        let unread = scope.iter().find_map(|(name, local)| local.unread.map(|line| (line, name)));
        unread.map_or(Ok(()), |(line, name)| Err(format!("`{name}` of line {line} is unused")))
    }

    fn kind(&mut self) -> Fallible<Type> {
        let name = self.word()?;
        let kind = match name.as_str() {
            "bit" => {
                self.expect("<")?;
                let bits = self.number()?;
                self.expect(">")?;
                return Ok(Type::Bits(bits));
            }
            "bool" => return Ok(Type::Bool),
            "PortId_t" => return Ok(Type::Bits(9)),
            _ => name,
        };
        if !self.structs.contains_key(&kind) {
            self.of_architecture(&kind)?;
        }
        let mut arguments = Vec::new();
        if self.accept("<") {
            while !self.accept(">") {
                arguments.push(self.kind()?);
                self.accept(",");
            }
        }
        Ok(Type::Named(kind, arguments))
    }

    /// Parses parameters, and declares them in the innermost scope.
    fn parameters(&mut self) -> Fallible<Vec<Type>> {
        let mut kinds = Vec::new();
        self.expect("(")?;
        while !self.accept(")") {
            let _ = self.accept("inout") || self.accept("out") || self.accept("in");
            let kind = self.kind()?;
            let name = self.word()?;
            self.declare(&name, kind.clone(), false)?;
            kinds.push(kind);
            self.accept(",");
        }
        Ok(kinds)
    }

    fn parser(&mut self) -> Fallible {
        self.declare_top()?;
        self.scopes.push(HashMap::new());
        self.parameters()?;
        self.expect("{")?;
        let mut states = HashSet::from(["accept".to_owned(), "reject".to_owned()]);
        let mut wanted = Vec::new();
        while self.accept("state") {
            let name = self.word()?;
            if !states.insert(name.clone()) {
                return Err(format!("state `{name}` is declared again"));
            }
            self.expect("{")?;
            while !self.accept("transition") {
                self.statement()?;
            }
            self.transition(&mut wanted)?;
            self.expect("}")?;
        }
        if let Some(state) = wanted.iter().find(|state| !states.contains(*state)) {
            return Err(format!("there is no state `{state}`"));
        }
        self.expect("}")?;
        self.leave()
    }

    fn transition(&mut self, wanted: &mut Vec<String>) -> Fallible {
        if !self.accept("select") {
            wanted.push(self.word()?);
            return self.expect(";");
        }
        let on = self.arguments()?;
        self.expect("{")?;
        while !self.accept("}") {
            if !self.accept("default") {
                let keys =
                    if self.peek(0) == "(" { self.arguments()? } else { vec![self.expression()?] };
                if keys.len() != on.len() {
                    return Err("a case has other keys than its select".into());
                }
                for (key, on) in keys.iter().zip(&on) {
                    unify(key, on)?;
                }
            }
            self.expect(":")?;
            wanted.push(self.word()?);
            self.expect(";")?;
        }
        Ok(())
    }

    fn control(&mut self) -> Fallible {
        self.declare_top()?;
        self.scopes.push(HashMap::new());
        self.parameters()?;
        self.expect("{")?;
        while !self.accept("}") {
            match self.peek(0) {
                "action" => self.action()?,
                "table" => self.table()?,
                "apply" => {
                    self.next();
                    self.block()?;
                }
                _ => self.instance()?,
            }
        }
        self.leave()
    }

    fn action(&mut self) -> Fallible {
        self.expect("action")?;
        self.action = self.word()?;
        let name = self.action.clone();
        self.declare(&name, Type::Any, false)?;
        self.scopes.push(HashMap::new());
        let parameters = self.parameters()?;
        self.found.actions.insert(name, parameters);
        self.block()?;
        self.leave()
    }

    fn table(&mut self) -> Fallible {
        self.expect("table")?;
        let name = self.word()?;
        self.declare(&name, Type::Named("table".into(), Vec::new()), false)?;
        self.expect("{")?;
        let (mut widths, mut actions) = (Vec::new(), HashSet::from(["NoAction".to_owned()]));
        while !self.accept("}") {
            let constant = self.accept("const");
            let property = self.word()?;
            self.expect("=")?;
            match property.as_str() {
                "key" => {
                    self.expect("{")?;
                    while !self.accept("}") {
                        match self.expression()? {
                            Type::Bits(bits) => widths.push(bits),
                            other => return Err(format!("a key is {other:?}")),
                        }
                        self.expect(":")?;
                        let kind = self.word()?;
                        if kind != "exact" && kind != "ternary" {
                            return Err(format!("a key is {kind}"));
                        }
                        self.expect(";")?;
                    }
                }
                "actions" => {
                    self.expect("{")?;
                    while !self.accept("}") {
                        let action = self.word()?;
                        if action != "NoAction" && !self.found.actions.contains_key(&action) {
                            return Err(format!("there is no action `{action}`"));
                        }
                        actions.insert(action);
                        self.expect(";")?;
                    }
                }
                "default_action" => {
                    let action = self.word()?;
                    let given = self.arguments()?;
                    let none = Vec::new();
                    let takes = self.found.actions.get(&action).unwrap_or(&none);
                    if !actions.contains(&action) || takes.len() != given.len() {
                        return Err(format!("`{action}` cannot be the default"));
                    }
                    for (given, takes) in given.iter().zip(takes) {
                        unify(given, takes)?;
                    }
                    self.expect(";")?;
                }
                "size" if !constant => {
                    self.number()?;
                    self.expect(";")?;
                }
                other => return Err(format!("a table has no `{other}`")),
            }
        }
        self.found.tables.insert(name, widths);
        Ok(())
    }

    /// Parses `Extern<types>(arguments) name;`, with an implementation of its method if it is abstract.
    fn instance(&mut self) -> Fallible {
        let kind = self.kind()?;
        let arguments = self.arguments()?;
        let name = self.word()?;
        let Type::Named(of, types) = &kind else { return Err(format!("{kind:?} has no instance")) };
        self.of_architecture(of)?;
        if let ("Register", [cell, _], [_, initial]) =
            (of.as_str(), types.as_slice(), arguments.as_slice())
        {
            self.initializes(cell, initial)?;
        }
        let outputs = of.strip_prefix("RegisterAction").map(|n| n.parse().unwrap_or(1));
        if outputs.is_some_and(|outputs: usize| types.len() != 2 + outputs) {
            return Err(format!("{of} has {} types", types.len()));
        }
        if outputs.is_some() {
            self.expect("=")?;
            self.expect("{")?;
            self.expect("void")?;
            self.expect("apply")?;
            self.scopes.push(HashMap::new());
            let mut takes = self.parameters()?;
            takes.insert(1, types[1].clone());
            if takes != *types {
                return Err(format!("its method takes {takes:?}, not {types:?}"));
            }
            self.declare("this", Type::Named("this".into(), Vec::new()), false)?;
            self.block()?;
            self.leave()?;
            self.expect("}")?;
        }
        self.declare(&name, kind.clone(), false)?;
        self.expect(";")
    }

    fn initializes(&self, cell: &Type, initial: &Type) -> Fallible {
        match (cell, initial) {
            (Type::Named(of, _), Type::List(values)) => {
                let fields = self.structs.get(of).ok_or("no such cell")?;
                if fields.len() != values.len() {
                    return Err("a cell starts with other fields".into());
                }
                fields.iter().zip(values).try_for_each(|((_, f), v)| unify(f, v).map(drop))
            }
            _ => unify(cell, initial).map(drop),
        }
    }

    fn block(&mut self) -> Fallible {
        self.expect("{")?;
        self.scopes.push(HashMap::new());
        while !self.accept("}") {
            self.statement()?;
        }
        self.leave()
    }

    fn statement(&mut self) -> Fallible {
        if self.accept("if") {
            self.expect("(")?;
            unify(&self.expression()?, &Type::Bool)?;
            self.expect(")")?;
            self.block()?;
            return match (self.accept("else"), self.peek(0)) {
                (false, _) => Ok(()),
                (true, "if") => self.statement(),
                (true, _) => self.block(),
            };
        }
        if matches!(self.peek(0), "bit" | "bool") || (self.is_word(0) && self.is_word(1)) {
            let kind = self.kind()?;
            let name = self.word()?;
            if self.accept("=") {
                let value = self.expression()?;
                unify(&kind, &value).map_err(|error| format!("`{name}`: {error}"))?;
            }
            self.declare(&name, kind, true)?;
            return self.expect(";");
        }
        let to = if self.peek(1) == "=" { self.target()? } else { self.expression()? };
        if self.accept("=") {
            let value = self.expression()?;
            unify(&to, &value)?;
        }
        self.expect(";")
    }
}

/// Returns the common type of two sides that must have the same.
fn unify(a: &Type, b: &Type) -> Fallible<Type> {
    match (a, b) {
        (Type::Any, other) | (other, Type::Any) => Ok(other.clone()),
        (Type::Int(value), Type::Bits(bits)) | (Type::Bits(bits), Type::Int(value)) => {
            if value.checked_shr(*bits).unwrap_or(0) == 0 {
                Ok(Type::Bits(*bits))
            } else {
                Err(format!("{value} does not fit bit<{bits}>"))
            }
        }
        (Type::Int(_), Type::Int(_)) => Ok(a.clone()),
        _ if a == b => Ok(a.clone()),
        _ => Err(format!("{a:?} is not {b:?}")),
    }
}
