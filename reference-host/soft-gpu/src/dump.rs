//! The lowered form as text, for people who debug the lowering.

use std::fmt::Write as _;

use crate::code::{Code, Function, NONE, Op};
use crate::error::Location;
use crate::exec::shape::Class;
use crate::lower::{reads, writes};
use crate::module::Module;

impl Module {
    /// The lowered code as text: every function with the registers it has, and every micro-op with its number, its PTX line, the registers
    /// it writes (`r` for 32 bits, `d` for 64, `p` for predicates), its name, and the registers it reads.
    ///
    /// The form is for people and changes from version to version.
    #[must_use]
    pub fn dump(&self) -> String {
        let mut out = String::new();
        let mut lines = Lines::new(&self.source);
        for (number, function) in self.code.functions.iter().enumerate() {
            let name = self.code.names.get(number).map_or("", String::as_str);
            let entry = self
                .entries
                .iter()
                .find(|entry| entry.function as usize == number);
            let kind = if entry.is_some() { "entry" } else { "func" };
            if let Some(&aliasee) = self.code.aliases.get(&(number as u32)) {
                let aliasee = self.code.names.get(aliasee as usize);
                let aliasee = aliasee.map_or("", String::as_str);
                put(&mut out, format_args!("{kind} {name}: alias of {aliasee}"));
                continue;
            }
            if function.start == NONE {
                put(&mut out, format_args!("{kind} {name}: declared only"));
                continue;
            }
            let registers = function.registers;
            put(
                &mut out,
                format_args!(
                    "{kind} {name}: {} r, {} d, {} p, {} bytes of frame",
                    registers.r32, registers.r64, registers.pred, function.frame_bytes
                ),
            );
            if let Some(entry) = entry {
                for param in &entry.params {
                    put(
                        &mut out,
                        format_args!(
                            "  param {} at {}: {} bytes",
                            param.name, param.offset_bytes, param.size_bytes
                        ),
                    );
                }
            }
            for (slot, value) in &function.constants32 {
                put(&mut out, format_args!("  r{slot} = {value:#x}"));
            }
            for (slot, value) in &function.constants64 {
                put(&mut out, format_args!("  d{slot} = {value:#x}"));
            }
            if entry.is_some() {
                out.push_str("  once a launch:\n");
                self.code_from(&mut out, &mut lines, function.prologue);
                out.push_str("  every warp:\n");
            }
            self.code_from(&mut out, &mut lines, function.start);
        }
        out
    }

    /// The micro-ops from `start` to the end of the function that it is in.
    fn code_from(&self, out: &mut String, lines: &mut Lines<'_>, start: u32) {
        let functions = self.code.functions.iter();
        let next = functions
            .flat_map(|function| [function.start, prologue(function)])
            .filter(|next| *next > start && *next != NONE)
            .min()
            .unwrap_or(NONE);
        for (pc, op) in (0u32..).zip(&self.code.ops) {
            if (start..next).contains(&pc) {
                let place = self.code.places.get(pc as usize).copied().unwrap_or(0);
                let line = lines.of(place);
                put(
                    out,
                    format_args!("  {pc:5}  line {line:<5} {}", worded(&self.code, op)),
                );
            }
        }
    }
}

/// Where a kernel's prologue starts; device functions have none.
fn prologue(function: &Function) -> u32 {
    if function.prologue == 0 {
        NONE
    } else {
        function.prologue
    }
}

/// `r5 <- AddI32 r1, r2`
fn worded(code: &Code, op: &Op) -> String {
    let (mut to, mut from) = (Vec::new(), Vec::new());
    writes(code, op, |register| to.push(named(register)));
    reads(code, op, |register| from.push(named(register)));
    let mut text = String::new();
    if !to.is_empty() {
        text = format!("{} <- ", to.join(", "));
    }
    text.push_str(&what(code, op));
    if !from.is_empty() {
        text.push(' ');
        text.push_str(&from.join(", "));
    }
    text
}

fn named((class, slot): (Class, u32)) -> String {
    let letter = match class {
        Class::R32 => 'r',
        Class::R64 => 'd',
        Class::Pred => 'p',
    };
    format!("{letter}{slot}")
}

/// An operation without its registers.
fn what(code: &Code, op: &Op) -> String {
    let not = |negated: bool| if negated { " unless" } else { " if" };
    match *op {
        Op::Block { cost } => format!("--- block of cost {cost}"),
        Op::Guard { negated, skip, .. } => format!("guard {skip} ops{}", not(negated)),
        Op::Branch { target } => format!("branch {target}"),
        Op::BranchIf {
            negated, target, ..
        } => format!("branch {target}{}", not(negated)),
        Op::BranchIndex { table, .. } => {
            let table = code.tables.get(table as usize);
            format!(
                "branch to one of {:?} by",
                table.map_or(&[][..], Vec::as_slice)
            )
        }
        Op::Call { site } | Op::CallIndirect { site, .. } => {
            let callee = code
                .sites
                .get(site as usize)
                .map_or(NONE, |site| site.callee);
            match code.names.get(callee as usize) {
                Some(name) => format!("call {name}"),
                None => "call".to_owned(),
            }
        }
        Op::Load(access) | Op::Store(access) => {
            let direction = if matches!(op, Op::Load(_)) {
                "load"
            } else {
                "store"
            };
            let (space, element, count) = (access.space.word(), access.element, access.count);
            format!(
                "{direction} {space} {count} x {element:?} at offset {} of",
                access.address.offset
            )
        }
        Op::Atomic(atomic) => {
            let (operation, space) = (atomic.op, atomic.space.word());
            format!(
                "atomic {operation:?} {space} at offset {} of",
                atomic.address.offset
            )
        }
        Op::Special { register, .. } => format!("special {register:?}"),
        Op::Special64 { register, .. } => format!("special {register:?}"),
        ref other => {
            let text = format!("{other:?}");
            let inner = text.strip_prefix("Lane(").unwrap_or(&text);
            let end = inner.find([' ', '(', '{']).unwrap_or(inner.len());
            inner.get(..end).unwrap_or(inner).to_owned()
        }
    }
}

fn put(out: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{line}");
}

/// Line numbers of places, without counting the whole source for each.
struct Lines<'s> {
    source: &'s [u8],
    starts: Vec<u32>,
}

impl<'s> Lines<'s> {
    fn new(source: &'s [u8]) -> Self {
        let last = Location::of(source, u32::MAX).line;
        let mut starts = Vec::with_capacity(last as usize);
        let mut previous = b'\n';
        for (at, &byte) in (0u32..).zip(source) {
            let begins = previous == b'\n' || (previous == b'\r' && byte != b'\n');
            if begins {
                starts.push(at);
            }
            previous = byte;
        }
        Self { source, starts }
    }

    fn of(&mut self, place: u32) -> usize {
        debug_assert!(place as usize <= self.source.len());
        self.starts.partition_point(|start| *start <= place)
    }
}
