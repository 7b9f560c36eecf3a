//! The instruction set: which function checks and lowers each opcode.
//!
//! To add an instruction, write its function in the file of its group, name it in [`find`], and give the executor its operation.

mod access;
mod approximate;
mod async_copy;
mod atomic;
mod cache;
mod compare;
mod control;
mod convert;
mod fields;
mod float;
mod half;
mod integer;
mod logic;
mod matrix;
mod mbarrier;
mod mma;
mod moves;
mod order;
mod sign;
pub(super) mod since;
mod spaces;
mod vectors;
mod video;
mod warp;
mod wide;
mod wmma;

pub(crate) use control::{emit_return, frame_layout, load_register_param};

use super::body::Body;
use super::error::Checked;
use super::instruction::Inst;

/// Checks one instruction and emits its micro-ops.
pub(crate) type Rule = for<'a> fn(&mut Body<'a>, Inst<'a>) -> Checked<()>;

/// How a guard `@p` acts on an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guarding {
    /// Lanes without the predicate sit out.
    Mask,
    /// Lanes without the predicate jump past it: for whatever moves control or meets other lanes.
    Branch,
    /// The instruction handles its guard itself.
    Own,
}

/// The rule for an opcode.
pub(crate) fn find(opcode: &str) -> Option<(Rule, Guarding)> {
    let masked: Option<Rule> = match opcode {
        "add" => Some(integer::add),
        "sub" => Some(integer::sub),
        "addc" => Some(integer::addc),
        "subc" => Some(integer::subc),
        "mul" => Some(integer::mul),
        "mad" => Some(integer::mad),
        "madc" => Some(integer::madc),
        "mul24" => Some(integer::mul24),
        "mad24" => Some(integer::mad24),
        "sad" => Some(integer::sad),
        "div" => Some(integer::div),
        "rem" => Some(integer::rem),
        "abs" => Some(sign::abs),
        "neg" => Some(sign::neg),
        "min" => Some(order::min),
        "max" => Some(order::max),
        "popc" => Some(integer::popc),
        "clz" => Some(integer::clz),
        "brev" => Some(integer::brev),
        "bfind" => Some(integer::bfind),
        "bfe" => Some(integer::bfe),
        "bfi" => Some(integer::bfi),
        "dp4a" => Some(integer::dp4a),
        "dp2a" => Some(fields::dp2a),
        "fns" => Some(fields::fns),
        "szext" => Some(fields::szext),
        "bmsk" => Some(fields::bmsk),
        "vabsdiff2" => Some(video::vabsdiff2),
        "vabsdiff4" => Some(video::vabsdiff4),
        "fma" => Some(float::fma),
        "rcp" => Some(approximate::rcp),
        "sqrt" => Some(approximate::sqrt),
        "rsqrt" => Some(approximate::rsqrt),
        "sin" => Some(approximate::sin),
        "cos" => Some(approximate::cos),
        "lg2" => Some(approximate::lg2),
        "ex2" => Some(approximate::ex2),
        "tanh" => Some(approximate::tanh),
        "copysign" => Some(sign::copysign),
        "testp" => Some(sign::testp),
        "and" => Some(logic::and),
        "or" => Some(logic::or),
        "xor" => Some(logic::xor),
        "not" => Some(logic::not),
        "cnot" => Some(logic::cnot),
        "lop3" => Some(logic::lop3),
        "shl" => Some(logic::shl),
        "shr" => Some(logic::shr),
        "shf" => Some(logic::shf),
        "prmt" => Some(logic::prmt),
        "setp" => Some(compare::setp),
        "set" => Some(compare::set),
        "selp" => Some(compare::selp),
        "slct" => Some(compare::slct),
        "mov" => Some(moves::mov),
        "cvta" => Some(spaces::cvta),
        "isspacep" => Some(spaces::isspacep),
        "mapa" => Some(spaces::mapa),
        "getctarank" => Some(spaces::getctarank),
        "cvt" => Some(convert::cvt),
        "ld" | "ldu" => Some(access::ld),
        "st" => Some(access::st),
        "atom" => Some(atomic::atom),
        "red" => Some(atomic::red),
        "membar" => Some(cache::membar),
        "fence" => Some(cache::fence),
        "prefetch" | "prefetchu" => Some(cache::prefetch),
        "applypriority" => Some(cache::applypriority),
        "discard" => Some(cache::discard),
        "cp" => Some(async_copy::cp),
        "mbarrier" => Some(mbarrier::mbarrier),
        "createpolicy" => Some(cache::createpolicy),
        "griddepcontrol" => Some(cache::griddepcontrol),
        "nanosleep" => Some(control::nanosleep),
        "pmevent" => Some(control::pmevent),
        "activemask" => Some(warp::activemask),
        _ => None,
    };
    if let Some(rule) = masked {
        return Some((rule, Guarding::Mask));
    }
    let branching: Rule = match opcode {
        "bra" => return Some((control::bra, Guarding::Own)),
        "brx" => control::brx,
        "call" => control::call,
        "ret" => control::ret,
        "exit" => control::exit,
        "trap" | "brkpt" => control::trap,
        "bar" | "barrier" => warp::bar,
        "mma" => mma::mma,
        "wmma" => wmma::wmma,
        "ldmatrix" => matrix::ldmatrix,
        "stmatrix" => matrix::stmatrix,
        "movmatrix" => matrix::movmatrix,
        "shfl" => warp::shfl,
        "vote" => warp::vote,
        "match" => warp::matching,
        "redux" => warp::redux,
        "elect" => warp::elect,
        _ => return None,
    };
    Some((branching, Guarding::Branch))
}

/// Whether the PTX ISA has an opcode that the software GPU has not.
pub(crate) fn is_unimplemented(opcode: &str) -> bool {
    const OPCODES: &[&str] = &[
        "alloca",
        "istypep",
        "multimem",
        "setmaxnreg",
        "stackrestore",
        "stacksave",
        "suld",
        "suq",
        "sured",
        "sust",
        "tensormap",
        "tex",
        "tld4",
        "txq",
        "tcgen05",
        "vabsdiff",
        "vadd",
        "vadd2",
        "vadd4",
        "vavrg2",
        "vavrg4",
        "vmad",
        "vmax",
        "vmax2",
        "vmax4",
        "vmin",
        "vmin2",
        "vmin4",
        "vset",
        "vset2",
        "vset4",
        "vshl",
        "vshr",
        "vsub",
        "vsub2",
        "vsub4",
        "wgmma",
        "clusterlaunchcontrol",
    ];
    OPCODES.contains(&opcode)
}
