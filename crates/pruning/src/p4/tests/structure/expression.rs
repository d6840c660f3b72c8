//! Expressions, and calls.

use super::{Fallible, HashCall, Reader, Type, unify};

/// Returns the precedence of an operator; `&`, `|` and `^` bind tighter than comparisons, unlike in C.
fn precedence(operator: &str) -> Option<u8> {
    Some(match operator {
        "||" => 1,
        "&&" => 2,
        "==" | "!=" => 3,
        "<" | ">" | "<=" | ">=" => 4,
        "|" => 5,
        "^" => 6,
        "&" => 7,
        ">>" => 8,
        "++" | "+" | "-" | "|+|" | "|-|" => 9,
        _ => return None,
    })
}

impl Reader {
    pub(super) fn expression(&mut self) -> Fallible<Type> {
        let condition = self.binary(1)?;
        if !self.accept("?") {
            return Ok(condition);
        }
        unify(&condition, &Type::Bool)?;
        let then = self.expression()?;
        self.expect(":")?;
        let otherwise = self.expression()?;
        unify(&then, &otherwise)
    }

    fn operator(&self) -> &str {
        if self.peek(0) == ">" && self.peek(1) == ">" { ">>" } else { self.peek(0) }
    }

    fn binary(&mut self, least: u8) -> Fallible<Type> {
        let mut left = self.unary()?;
        loop {
            let operator = self.operator().to_owned();
            let Some(binds) = precedence(&operator).filter(|binds| *binds >= least) else {
                return Ok(left);
            };
            self.at += if operator == ">>" { 2 } else { 1 };
            let right = self.binary(binds + 1)?;
            left = match (operator.as_str(), &left, &right) {
                ("||" | "&&", Type::Bool, Type::Bool) => Type::Bool,
                ("||" | "&&", ..) => return Err(format!("{left:?} {operator} {right:?}")),
                ("++", Type::Bits(a), Type::Bits(b)) => Type::Bits(a + b),
                (">>", Type::Bits(_), Type::Bits(_) | Type::Int(_)) => left,
                ("==" | "!=" | "<" | ">" | "<=" | ">=", ..) => {
                    unify(&left, &right)?;
                    Type::Bool
                }
                _ => match unify(&left, &right)? {
                    Type::Bool => return Err(format!("{operator} of booleans")),
                    kind => kind,
                },
            };
        }
    }

    fn unary(&mut self) -> Fallible<Type> {
        if self.accept("!") {
            return unify(&self.unary()?, &Type::Bool);
        }
        if self.accept("~") {
            return self.unary();
        }
        if self.accept("{") {
            let mut parts = Vec::new();
            while !self.accept("}") {
                parts.push(self.expression()?);
                self.accept(",");
            }
            return Ok(Type::List(parts));
        }
        if self.peek(0) == "(" && self.peek(1) == "bit" {
            self.expect("(")?;
            let kind = self.kind()?;
            self.expect(")")?;
            return match self.unary()? {
                Type::Bits(_) | Type::Int(_) | Type::Any => Ok(kind),
                other => Err(format!("{other:?} is cast")),
            };
        }
        if self.accept("(") {
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.tokens.get(self.at).is_some_and(super::Token::is_number) {
            return self.literal();
        }
        self.access()
    }

    fn literal(&mut self) -> Fallible<Type> {
        let text = self.next();
        let (bits, digits) = match text.split_once('w') {
            Some((bits, digits)) => (bits.parse::<u32>().ok(), digits),
            None => (None, text.as_str()),
        };
        let value = match digits.strip_prefix("0x") {
            Some(digits) => u128::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        let value = Type::Int(value.map_err(|_| format!("`{text}` is no number"))?);
        bits.map_or(Ok(value.clone()), |bits| unify(&value, &Type::Bits(bits)))
    }

    /// Reads a name with its members, slices and calls.
    fn access(&mut self) -> Fallible<Type> {
        let name = self.word()?;
        if self.peek(0) == "(" {
            return self.function(&name);
        }
        let mut kind = match name.as_str() {
            "true" | "false" => return Ok(Type::Bool),
            "HashAlgorithm" | "HashAlgorithm_t" | "PORT_METADATA_SIZE" => {
                self.of_architecture(&name)?;
                if self.accept(".") {
                    self.word()?;
                }
                return Ok(Type::Any);
            }
            _ => self.look_up(&name, true)?,
        };
        loop {
            if self.accept("[") {
                let (high, _, low) = (self.number()?, self.expect(":")?, self.number()?);
                self.expect("]")?;
                let Type::Bits(bits) = kind else { return Err(format!("a slice of {kind:?}")) };
                if high >= bits || low > high {
                    return Err(format!("[{high}:{low}] of bit<{bits}>"));
                }
                kind = Type::Bits(high - low + 1);
            } else if self.accept(".") {
                let member = self.word()?;
                if self.peek(0) == "(" {
                    return self.method(&kind, &member);
                }
                let Type::Named(of, _) = &kind else { return Err(format!("{kind:?}.{member}")) };
                let fields = self.structs.get(of).ok_or_else(|| format!("{of} has no fields"))?;
                let field = fields.iter().find(|(name, _)| *name == member);
                kind = field.ok_or_else(|| format!("{of} has no field `{member}`"))?.1.clone();
            } else {
                return Ok(kind);
            }
        }
    }

    fn look_up(&mut self, name: &str, reads: bool) -> Fallible<Type> {
        let local = self.scopes.iter_mut().rev().find_map(|scope| scope.get_mut(name));
        let local = local.ok_or_else(|| format!("`{name}` is not declared"))?;
        if reads {
            local.unread = None;
        }
        Ok(local.kind.clone())
    }

    /// Reads the target of an assignment; this does not count as a read of a local.
    pub(super) fn target(&mut self) -> Fallible<Type> {
        if matches!(self.peek(1), "=" | ",") {
            let name = self.word()?;
            return self.look_up(&name, false);
        }
        self.access()
    }

    pub(super) fn arguments(&mut self) -> Fallible<Vec<Type>> {
        let mut kinds = Vec::new();
        self.expect("(")?;
        while !self.accept(")") {
            kinds.push(self.expression()?);
            self.accept(",");
        }
        Ok(kinds)
    }

    fn function(&mut self, name: &str) -> Fallible<Type> {
        self.of_architecture(name)?;
        match name {
            "hash" => {
                self.expect("(")?;
                let (to, result) = (self.peek(0).to_owned(), self.target()?);
                self.expect(",")?;
                self.expect("HashAlgorithm")?;
                self.expect(".")?;
                let (action, algorithm) = (self.action.clone(), self.word()?);
                self.found.hash_calls.push(HashCall { action, to, algorithm });
                self.expect(",")?;
                unify(&self.expression()?, &result)?;
                self.expect(",")?;
                let Type::List(inputs) = self.expression()? else { return Err("no list".into()) };
                if let Some(odd) = inputs.iter().find(|i| !matches!(i, Type::Bits(n) if n % 8 == 0))
                {
                    return Err(format!("{odd:?} is hashed"));
                }
                self.expect(",")?;
                self.expression()?;
                self.expect(")")?;
            }
            "mark_to_drop" | "update_checksum" => drop(self.arguments()?),
            _ => return Err(format!("`{name}` is called")),
        }
        Ok(Type::Any)
    }

    fn method(&mut self, of: &Type, method: &str) -> Fallible<Type> {
        let Type::Named(name, types) = of else { return Err(format!("{of:?}.{method}()")) };
        let index = Type::Bits(32);
        if (name.as_str(), method) == ("register", "read") {
            self.expect("(")?;
            unify(&self.target()?, &types[0])?;
            self.expect(",")?;
            unify(&self.expression()?, &index)?;
            self.expect(")")?;
            return Ok(Type::Any);
        }
        let given = self.arguments()?;
        let takes = |takes: &[&Type]| {
            if takes.len() != given.len() {
                return Err(format!("{name}.{method} takes {takes:?}, not {given:?}"));
            }
            takes.iter().zip(&given).try_for_each(|(t, g)| unify(t, g).map(drop))
        };
        match (name.as_str(), method) {
            ("register", "write") => takes(&[&index, &types[0]])?,
            ("Hash", "get") => return Ok(types[0].clone()),
            ("Checksum", "update") => return Ok(Type::Bits(16)),
            ("this", "predicate") => takes(&[&Type::Bool, &Type::Bool])?,
            ("table", "apply") | (_, "isValid" | "setInvalid") => {
                takes(&[])?;
                return Ok(if method == "isValid" { Type::Bool } else { Type::Any });
            }
            ("packet_in", "extract" | "advance") | ("packet_out", "emit") => {}
            (action, "execute") if action.starts_with("RegisterAction") => {
                let parameters = std::iter::once(&types[1]).chain(&types[3..]);
                takes(&parameters.collect::<Vec<_>>())?;
                return Ok(types[2].clone());
            }
            _ => return Err(format!("{name} has no method `{method}`")),
        }
        Ok(Type::Any)
    }
}
