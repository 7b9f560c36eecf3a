//! The syntax tree as text, so that tables of sources can state what was read.

use crate::ast::{
    FloatLit, InitValue, Item, Module, Name, Operand, OperandKind, Param, Slice, Stmt, VarSpace,
    Variable, Wide,
};

/// Writes a tree in a canonical form that shows every field but the positions.
pub(super) struct Render<'m, 's>(pub(super) &'m Module<'s>);

impl<'s> Render<'_, 's> {
    fn operands(&self, slice: Slice) -> String {
        let list = &self.0.operands[slice.start as usize..slice.end as usize];
        list.iter()
            .map(|operand| self.operand(operand))
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn operand(&self, operand: &Operand<'s>) -> String {
        match operand.kind {
            OperandKind::Name(name) => name.text.to_owned(),
            OperandKind::Member(name, component) => format!("{}.{}", name.text, component.text),
            OperandKind::Not(name) => format!("!{}", name.text),
            OperandKind::Int(Wide(value)) => value.to_string(),
            OperandKind::Float(value) => float(value),
            OperandKind::NameOffset(name, offset) => format!("{}+{offset}", name.text),
            OperandKind::Address { base, offset } => {
                format!("[{}+{offset}]", base.map_or("", |base| base.text))
            }
            OperandKind::UnifiedAddress { base, offset } => {
                format!("[{}+{offset}].unified", base.text)
            }
            OperandKind::Vector(slice) => format!("{{{}}}", self.operands(slice)),
            OperandKind::List(slice) => format!("({})", self.operands(slice)),
            OperandKind::Pair(a, b) => {
                let [a, b] = [a, b].map(|at| self.operand(&self.0.operands[at as usize]));
                format!("{a}|{b}")
            }
            OperandKind::Sink => "_".to_owned(),
        }
    }

    pub(super) fn stmt(&self, stmt: &Stmt<'s>) -> String {
        match stmt {
            Stmt::Open => "{".to_owned(),
            Stmt::Close => "}".to_owned(),
            Stmt::Variable(declared) => variable(declared),
            Stmt::Label(label) => format!("{}:", self.0.labels[*label as usize].text),
            Stmt::Instr(instr) => {
                let instr = &self.0.instrs[*instr as usize];
                let mut text = match self.0.guards.get(instr.guard as usize) {
                    Some(guard) if guard.negated => format!("@!{} ", guard.predicate.text),
                    Some(guard) => format!("@{} ", guard.predicate.text),
                    None => String::new(),
                };
                text.push_str(instr.opcode.text);
                for modifier in
                    &self.0.modifiers[instr.modifiers.start as usize..instr.modifiers.end as usize]
                {
                    text.push('.');
                    text.push_str(modifier.text);
                }
                format!("{text} {}", self.operands(instr.operands))
                    .trim_end()
                    .to_owned()
            }
            Stmt::CallPrototype(prototype) => {
                format!(
                    "{}: proto {} -> {}",
                    prototype.name.text,
                    params(&prototype.params),
                    params(&prototype.returns)
                )
            }
            Stmt::BranchTargets(list) => {
                format!("{}: branch {}", list.name.text, names(&list.targets))
            }
            Stmt::CallTargets(list) => {
                format!("{}: call {}", list.name.text, names(&list.targets))
            }
        }
    }

    pub(super) fn item(&self, item: &Item<'s>) -> String {
        match item {
            Item::Variable(declared) => format!("{:?} {}", declared.linkage, variable(declared)),
            Item::Alias(names) => format!("alias {} {}", names[0].text, names[1].text),
            Item::Function(function) => {
                let kind = if function.entry { "entry" } else { "func" };
                let mut text = format!(
                    "{:?} {kind} {} {} -> {}",
                    function.linkage,
                    function.name.text,
                    params(&function.params),
                    params(&function.returns)
                );
                for (word, numbers) in &function.directives {
                    text.push_str(&format!(" {}{numbers:?}", word.text));
                }
                match function.body {
                    Some(body) => format!("{text} {}", body.end - body.start),
                    None => format!("{text};"),
                }
            }
        }
    }
}

fn float(value: FloatLit) -> String {
    match value {
        FloatLit::Single(bits) => format!("0f{bits:08X}"),
        FloatLit::Double(bits) => format!("{:?}", f64::from_bits(bits)),
    }
}

pub(super) fn names(names: &[Name<'_>]) -> String {
    names
        .iter()
        .map(|name| name.text)
        .collect::<Vec<_>>()
        .join(",")
}

fn dims(dims: &[Option<u64>]) -> String {
    dims.iter()
        .map(|dim| dim.map_or("[]".to_owned(), |dim| format!("[{dim}]")))
        .collect()
}

fn params(params: &[Param<'_>]) -> String {
    let params = params.iter().map(|param| {
        let space = if param.space == VarSpace::Reg {
            "reg "
        } else {
            ""
        };
        let align = param
            .align
            .map_or(String::new(), |align| format!(" align {align}"));
        let ptr = if param.ptr { "*" } else { "" };
        format!(
            "{space}{}{ptr} {}{}{align}",
            param.ty.text,
            param.name.text,
            dims(&param.dims)
        )
    });
    format!("({})", params.collect::<Vec<_>>().join(", "))
}

fn variable(variable: &Variable<'_>) -> String {
    let mut text = format!("{:?} {}", variable.space, variable.ty.text);
    if variable.vector != 1 {
        text.push_str(&format!("x{}", variable.vector));
    }
    text.push_str(&format!(" {}{}", variable.name.text, dims(variable.dims())));
    if let Some(count) = variable.count() {
        text.push_str(&format!("<{count}>"));
    }
    if let Some(align) = variable.align() {
        text.push_str(&format!(" align {align}"));
    }
    if let Some(init) = variable.init() {
        let _: Result<(), ()> = init.for_each_path(|at, path| {
            text.push_str(&match &init.leaves[at].value {
                InitValue::Int(value) => format!(" {path:?}={}", value.cast_signed()),
                InitValue::Single(bits) => {
                    format!(" {path:?}={}", float(FloatLit::Single(*bits)))
                }
                InitValue::Double(bits) => {
                    format!(" {path:?}={}", float(FloatLit::Double(*bits)))
                }
                InitValue::Address(value) => {
                    let generic = if value.generic { "generic " } else { "" };
                    let mask = value
                        .mask
                        .map_or(String::new(), |mask| format!("{mask:#x}:"));
                    let (name, offset) = (value.name.text, value.offset);
                    format!(" {path:?}={mask}{generic}{name}+{offset}")
                }
            });
            Ok(())
        });
    }
    text
}
