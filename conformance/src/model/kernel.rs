//! PTX whose effect the model knows, and PTX that no assembler takes.

use std::sync::LazyLock;

use super::argv::Record;
use super::contents::Contents;

/// A module of one kernel.
#[derive(Debug)]
pub struct Known {
    /// Name of the kernel.
    pub entry: &'static str,
    /// The whole source.
    pub text: String,
    /// Bytes of each parameter, 4 or 8; what a `ptr` record is for is 8.
    pub params: Vec<Param>,
    pub(super) effect: Effect,
}

/// What a parameter is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// Four bytes of any kind.
    Four,
    /// Eight bytes of any kind.
    Eight,
    /// The address of a window that holds so many bytes.
    Window(u32),
}

impl Param {
    pub(super) fn width_bytes(self) -> u32 {
        match self {
            Param::Four => 4,
            Param::Eight | Param::Window(_) => 8,
        }
    }
}

/// What a launch does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    Nothing,
    /// Stores its second argument, four bytes, to the window.
    Store,
    /// Copies as many bytes as the third argument says, one after the other, from the first window to the second.
    Copy,
    /// Stores its arguments behind the window: i32, u32, f32, then i64, u64, f64.
    Keep,
    /// Adds, wrapping, two 32-bit and two 64-bit arguments.
    Sum,
    /// Adds one to a variable of the module and stores the sum.
    Tick,
    /// Passes a number through dynamic shared memory.
    Shared,
    /// Executes `trap`.
    Trap,
    /// Stores to address 0.
    Wild,
    /// Never ends.
    Spin,
}

/// Whether a launch faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Faults {
    /// It must not.
    #[default]
    Never,
    /// It may: the ABI leaves it to the device.
    Perhaps,
    /// It must.
    Surely,
}

/// How a launch is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) grid: [i32; 3],
    pub(super) block: [i32; 3],
    pub(super) shared_bytes: i32,
}

impl Shape {
    fn threads(&self) -> u128 {
        self.grid
            .iter()
            .chain(&self.block)
            .map(|axis| u128::from(axis.unsigned_abs()))
            .product()
    }
}

impl Known {
    /// Whether it stores what its module counted.
    pub(super) fn counts(&self) -> bool {
        self.effect == Effect::Tick
    }

    /// Whether the launch faults, given records that fit the parameters.
    pub(super) fn faults(&self, records: &[Record], shape: &Shape) -> Faults {
        match self.effect {
            Effect::Trap | Effect::Wild | Effect::Spin => return Faults::Surely,
            _ if shape.threads() > MANY_THREADS || shape.shared_bytes > SURE_SHARED_BYTES => {
                return Faults::Perhaps;
            }
            Effect::Shared if shape.shared_bytes < 4 => return Faults::Perhaps,
            _ => {}
        }
        let fits = |(record, param): (&Record, &Param)| match (record, param) {
            (Record::Window { at, len }, Param::Window(need)) => {
                len >= need && (*need < 4 || at % 8 == 0)
            }
            // A number where the kernel follows an address: it may be any.
            (Record::Eight(_), Param::Window(_)) => false,
            _ => true,
        };
        if !records.iter().zip(&self.params).all(fits) {
            return Faults::Perhaps;
        }
        match (self.effect, records) {
            (
                Effect::Copy,
                [
                    Record::Window { len: from, .. },
                    Record::Window { len: to, .. },
                    Record::Four(count),
                ],
            ) if count > from || count > to || *count > MOST_COPIED => Faults::Perhaps,
            _ => Faults::Never,
        }
    }

    /// Applies a launch that does not fault to memory; `ticks` is the module's variable. Answers what was written.
    pub(super) fn run(
        &self,
        records: &[Record],
        memory: &mut Contents,
        ticks: &mut Option<u32>,
    ) -> Option<(u64, u64)> {
        match (self.effect, records) {
            (Effect::Store, [Record::Window { at, .. }, Record::Four(value)]) => {
                memory.write(u64::from(*at), &value.to_le_bytes());
                Some((u64::from(*at), 4))
            }
            (
                Effect::Copy,
                [
                    Record::Window { at: from, .. },
                    Record::Window { at: to, .. },
                    Record::Four(count),
                ],
            ) => {
                for index in 0..u64::from(*count) {
                    match memory.byte(u64::from(*from) + index) {
                        Some(byte) => memory.write(u64::from(*to) + index, &[byte]),
                        None => memory.forget(u64::from(*to) + index, 1),
                    }
                }
                Some((u64::from(*to), u64::from(*count)))
            }
            (Effect::Keep, [Record::Window { at, .. }, values @ ..]) => {
                let mut place = u64::from(*at);
                for value in values {
                    place = place.next_multiple_of(u64::from(value.width_bytes()));
                    match value {
                        Record::Four(bits) => memory.write(place, &bits.to_le_bytes()),
                        Record::Eight(bits) => memory.write(place, &bits.to_le_bytes()),
                        // The device's address of the window: only the device knows.
                        Record::Window { .. } => memory.forget(place, 8),
                    }
                    place += u64::from(value.width_bytes());
                }
                Some((u64::from(*at), place - u64::from(*at)))
            }
            (
                Effect::Sum,
                [
                    Record::Window { at, .. },
                    Record::Four(a),
                    Record::Four(b),
                    rest @ ..,
                ],
            ) => {
                let at = u64::from(*at);
                memory.write(at, &a.wrapping_add(*b).to_le_bytes());
                match rest {
                    [Record::Eight(c), Record::Eight(d)] => {
                        memory.write(at + 8, &c.wrapping_add(*d).to_le_bytes());
                    }
                    _ => memory.forget(at + 8, 8),
                }
                Some((at, 16))
            }
            (Effect::Tick, [Record::Window { at, .. }]) => {
                let at = u64::from(*at);
                *ticks = ticks.map(|ticks| ticks.wrapping_add(1));
                match ticks {
                    Some(ticks) => memory.write(at, &ticks.to_le_bytes()),
                    None => memory.forget(at, 4),
                }
                Some((at, 4))
            }
            (Effect::Shared, [Record::Window { at, .. }, Record::Four(value)]) => {
                memory.write(u64::from(*at), &value.to_le_bytes());
                Some((u64::from(*at), 4))
            }
            _ => None,
        }
    }
}

/// The modules that the model knows.
pub fn known() -> &'static [Known] {
    static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
        let window = Param::Window;
        let module = |entry, params: Vec<Param>, effect, globals, body: &str| Known {
            text: source(entry, &params, globals, body),
            entry,
            params,
            effect,
        };
        use Param::{Eight, Four};
        vec![
            module("nothing", vec![], Effect::Nothing, "", ""),
            module("store", vec![window(4), Four], Effect::Store, "", STORE),
            module(
                "copy",
                vec![window(0), window(0), Four],
                Effect::Copy,
                "",
                COPY,
            ),
            module(
                "keep",
                vec![window(40), Four, Four, Four, Eight, Eight, Eight],
                Effect::Keep,
                "",
                KEEP,
            ),
            module(
                "sum",
                vec![window(16), Four, Four, Eight, Eight],
                Effect::Sum,
                "",
                SUM,
            ),
            module(
                "tick",
                vec![window(4)],
                Effect::Tick,
                ".global .u32 ticks;\n",
                TICK,
            ),
            module(
                "shared",
                vec![window(4), Four],
                Effect::Shared,
                ".extern .shared .align 8 .b8 room[];\n",
                SHARED,
            ),
            module("trap", vec![], Effect::Trap, "", "trap;\n"),
            module("wild", vec![], Effect::Wild, "", WILD),
            module("spin", vec![], Effect::Spin, "", "again:\nbra again;\n"),
            module("most", vec![Four; 128], Effect::Nothing, "", ""),
            module("more", vec![Four; 129], Effect::Nothing, "", ""),
        ]
    });
    &KNOWN
}

/// Texts that every assembler rejects.
pub fn rejected() -> &'static [&'static str] {
    &[
        ".target sm_50\n.address_size 64\n.visible .entry bad()\n{\nret;\n}\n",
        ".version 6.0\n.address_size 64\n.visible .entry bad()\n{\nret;\n}\n",
        ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry bad()\n{\nnosuch.u32 1;\nret;\n}\n",
        ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry bad()\n{\nmov.u32 %r1, 1;\nret;\n}\n",
        ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry bad()\n{\nbra nowhere;\nret;\n}\n",
        ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry bad()\n{\nret;\n",
        ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry bad()\n{\nret;\n}\n}\n",
        ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry bad()\n{\nret;\n}\n.visible .entry bad()\n{\nret;\n}\n",
        "no PTX at all",
        "",
    ]
}

fn source(entry: &str, params: &[Param], globals: &str, body: &str) -> String {
    let params: Vec<String> = params
        .iter()
        .enumerate()
        .map(|(index, param)| {
            let kind = if param.width_bytes() == 4 {
                "u32"
            } else {
                "u64"
            };
            format!(".param .{kind} p{index}")
        })
        .collect();
    let params = params.join(", ");
    let registers = if body.is_empty() {
        ""
    } else {
        ".reg .pred %q<3>;\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n"
    };
    format!(
        ".version 6.0\n.target sm_50\n.address_size 64\n{globals}.visible .entry {entry}({params})\n{{\n{registers}{body}ret;\n}}\n"
    )
}

/// Only the first thread of the first block goes on.
macro_rules! first_thread {
    ($($line:literal)*) => {
        concat!(
            "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %tid.y;\nor.b32 %r0, %r0, %r1;\n",
            "mov.u32 %r1, %tid.z;\nor.b32 %r0, %r0, %r1;\n",
            "mov.u32 %r1, %ctaid.x;\nor.b32 %r0, %r0, %r1;\n",
            "mov.u32 %r1, %ctaid.y;\nor.b32 %r0, %r0, %r1;\n",
            "mov.u32 %r1, %ctaid.z;\nor.b32 %r0, %r0, %r1;\n",
            "setp.ne.u32 %q0, %r0, 0;\n@%q0 ret;\n",
            $($line, "\n",)*
        )
    };
}

const STORE: &str = first_thread!(
    "ld.param.u64 %d0, [p0];"
    "cvta.to.global.u64 %d0, %d0;"
    "ld.param.u32 %r2, [p1];"
    "st.global.u32 [%d0], %r2;"
);

const COPY: &str = first_thread!(
    "ld.param.u64 %d0, [p0];"
    "cvta.to.global.u64 %d0, %d0;"
    "ld.param.u64 %d1, [p1];"
    "cvta.to.global.u64 %d1, %d1;"
    "ld.param.u32 %r2, [p2];"
    "next:"
    "setp.eq.u32 %q1, %r2, 0;"
    "@%q1 ret;"
    "ld.global.u8 %r3, [%d0];"
    "st.global.u8 [%d1], %r3;"
    "add.u64 %d0, %d0, 1;"
    "add.u64 %d1, %d1, 1;"
    "sub.u32 %r2, %r2, 1;"
    "bra next;"
);

const KEEP: &str = first_thread!(
    "ld.param.u64 %d0, [p0];"
    "cvta.to.global.u64 %d0, %d0;"
    "ld.param.u32 %r2, [p1];"
    "st.global.u32 [%d0], %r2;"
    "ld.param.u32 %r2, [p2];"
    "st.global.u32 [%d0+4], %r2;"
    "ld.param.u32 %r2, [p3];"
    "st.global.u32 [%d0+8], %r2;"
    "ld.param.u64 %d1, [p4];"
    "st.global.u64 [%d0+16], %d1;"
    "ld.param.u64 %d1, [p5];"
    "st.global.u64 [%d0+24], %d1;"
    "ld.param.u64 %d1, [p6];"
    "st.global.u64 [%d0+32], %d1;"
);

const SUM: &str = first_thread!(
    "ld.param.u64 %d0, [p0];"
    "cvta.to.global.u64 %d0, %d0;"
    "ld.param.u32 %r2, [p1];"
    "ld.param.u32 %r3, [p2];"
    "add.u32 %r2, %r2, %r3;"
    "st.global.u32 [%d0], %r2;"
    "ld.param.u64 %d1, [p3];"
    "ld.param.u64 %d2, [p4];"
    "add.u64 %d1, %d1, %d2;"
    "st.global.u64 [%d0+8], %d1;"
);

const TICK: &str = first_thread!(
    "ld.param.u64 %d0, [p0];"
    "cvta.to.global.u64 %d0, %d0;"
    "ld.global.u32 %r2, [ticks];"
    "add.u32 %r2, %r2, 1;"
    "st.global.u32 [ticks], %r2;"
    "st.global.u32 [%d0], %r2;"
);

const SHARED: &str = first_thread!(
    "ld.param.u64 %d0, [p0];"
    "cvta.to.global.u64 %d0, %d0;"
    "ld.param.u32 %r2, [p1];"
    "st.shared.u32 [room], %r2;"
    "ld.shared.u32 %r3, [room];"
    "st.global.u32 [%d0], %r3;"
);

const WILD: &str = "mov.u64 %d0, 0;\nst.global.u64 [%d0], %d0;\n";

/// A launch of more threads may take longer than a watchdog allows.
const MANY_THREADS: u128 = 1 << 20;

/// Dynamic shared memory that every device has.
const SURE_SHARED_BYTES: i32 = 48 << 10;

/// A longer loop may take longer than a watchdog allows.
const MOST_COPIED: u32 = 1 << 16;
