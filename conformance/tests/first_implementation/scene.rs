//! From a row of the data to a state of the model and a call.

use serde_json::Value;
use wasi_cuda_conformance::Profile;
use wasi_cuda_conformance::model::{Call, Import, MemoryKind, Model, Options, known};

/// One row.
pub(crate) struct Row<'a> {
    pub(crate) function: &'a str,
    pub(crate) case: &'a str,
    /// The guest's declaration of its memory.
    pub(crate) memory: &'a str,
    pub(crate) args: &'a [Value],
}

/// The state in which a row's call was made.
pub(crate) struct Scene {
    pub(crate) model: Model,
    disabled: bool,
}

impl Scene {
    /// The state and the call of a row, or what of it is not understood.
    pub(crate) fn of(row: &Row<'_>) -> Result<(Scene, Call), String> {
        let disabled = row.case.contains("capability disabled");
        let profile = if disabled {
            Profile::Disabled
        } else {
            Profile::NoDevice
        };
        let mut model = Model::new(profile, Options::default());
        let (kind, pages) = memory(row.memory)?;
        model.instantiate(kind, pages);
        let mut scene = Scene { model, disabled };
        let call = scene.call(row)?;
        if !disabled {
            scene.prepare(row, &call)?;
        }
        Ok((scene, call))
    }

    /// Whether a failure of this call is recommended to leave a message.
    pub(crate) fn records(&self, call: &Call) -> bool {
        let reads = matches!(call.import(), Import::LastErrorLen | Import::LastErrorCopy);
        !self.disabled && !reads
    }

    fn call(&self, row: &Row<'_>) -> Result<Call, String> {
        let mut numbers = Vec::new();
        for arg in row.args {
            numbers.push(match (arg.as_i64(), arg.as_str()) {
                (Some(number), _) => number,
                (None, Some("valid")) => KERNEL,
                (None, Some("unknown")) => KERNEL + 1,
                _ => return Err(format!("argument {arg}")),
            });
        }
        let ints: Vec<i32> = numbers
            .iter()
            .map(|number| i32::try_from(*number).unwrap_or(0))
            .collect();
        match (row.function, ints.as_slice()) {
            ("load_ptx", [ptx_ptr, ptx_len, entry_ptr, entry_len]) => Ok(Call::LoadPtx {
                ptx_ptr: *ptx_ptr,
                ptx_len: *ptx_len,
                entry_ptr: *entry_ptr,
                entry_len: *entry_len,
            }),
            ("launch", [_, gx, gy, gz, bx, by, bz, shared_mem, args_ptr, args_len]) => {
                Ok(Call::Launch {
                    kernel_id: numbers[0],
                    grid: [*gx, *gy, *gz],
                    block: [*bx, *by, *bz],
                    shared_mem: *shared_mem,
                    args_ptr: *args_ptr,
                    args_len: *args_len,
                })
            }
            ("sync", []) => Ok(Call::Sync),
            ("alloc", [size_lo, size_hi]) => Ok(Call::Alloc {
                size_lo: *size_lo,
                size_hi: *size_hi,
            }),
            ("free", [handle_lo, handle_hi]) => Ok(Call::Free {
                handle_lo: *handle_lo,
                handle_hi: *handle_hi,
            }),
            ("memcpy_h2d", [handle_lo, handle_hi, src_ptr, len]) => Ok(Call::MemcpyH2d {
                handle_lo: *handle_lo,
                handle_hi: *handle_hi,
                src_ptr: *src_ptr,
                len: *len,
            }),
            ("memcpy_d2h", [dst_ptr, handle_lo, handle_hi, len]) => Ok(Call::MemcpyD2h {
                dst_ptr: *dst_ptr,
                handle_lo: *handle_lo,
                handle_hi: *handle_hi,
                len: *len,
            }),
            ("last_error_len", []) => Ok(Call::LastErrorLen),
            ("last_error_copy", [dst_ptr, dst_len]) => Ok(Call::LastErrorCopy {
                dst_ptr: *dst_ptr,
                dst_len: *dst_len,
            }),
            (function, args) => Err(format!("{function} with {} arguments", args.len())),
        }
    }

    /// What was in memory and in the registries before the call.
    fn prepare(&mut self, row: &Row<'_>, call: &Call) -> Result<(), String> {
        match *call {
            Call::LoadPtx {
                ptx_ptr,
                ptx_len,
                entry_ptr,
                ..
            } => self.prepare_load(row, (ptx_ptr, ptx_len), entry_ptr),
            Call::Launch {
                args_ptr, args_len, ..
            } => self.prepare_launch(row, args_ptr, args_len),
            Call::Alloc { .. } => {
                let (count, bytes) = match row.case {
                    case if case.starts_with("4097th live") => (4096, 1),
                    case if case.starts_with("aggregate full") => (16, 256 << 20),
                    _ => (0, 0),
                };
                self.allocate(count, bytes)
            }
            Call::Free { .. } => {
                let held = match row.case {
                    case if case.contains("4097") => 4097,
                    case if case.contains("full") => 4096,
                    _ => 1,
                };
                self.allocate(held.min(4096), 1)
            }
            Call::MemcpyH2d { .. } | Call::MemcpyD2h { .. } => self.allocate(1, 64),
            Call::LastErrorLen | Call::LastErrorCopy { .. } => self.prepare_message(row, call),
            Call::Sync => Ok(()),
        }
    }

    fn prepare_load(&mut self, row: &Row<'_>, ptx: (i32, i32), entry: i32) -> Result<(), String> {
        let case = row.case;
        match case {
            case if case.starts_with("256th kernel") => self.load(255)?,
            case if case.starts_with("257th kernel") => self.load(256)?,
            case if case.starts_with("64th x 8 MiB") => self.load_large(63)?,
            case if case.starts_with("aggregate full") => self.load_large(64)?,
            _ => {}
        }
        if !self.is_inside(ptx) {
            return Ok(());
        }
        let wanted = ptx.1.cast_unsigned() as usize;
        let good = &known()[1].text;
        let text = match case {
            _ if wanted == 0 => String::new(),
            case if case.contains("missing .version") => {
                padded(&good.replace(".version 6.0", ""), wanted)
            }
            case if case.contains("missing directives") => "x".repeat(wanted),
            case if case.contains("missing .entry") => {
                padded(".version 6.0\n.target sm_50\n", wanted)
            }
            case if case.contains("prefixes of junk") => {
                padded(".versionx .targetx .entryx", wanted)
            }
            case if case.contains("trailing NUL") => format!("{}\0", padded(good, wanted - 1)),
            case if GOOD_PTX.iter().any(|start| case.starts_with(start)) => padded(good, wanted),
            case => return Err(format!("the PTX of `{case}`")),
        };
        let mut bytes = text.into_bytes();
        bytes.truncate(wanted);
        if case.contains("ptx not UTF-8") {
            bytes[0] = 0xFF;
        }
        // The name comes first, so that an overlap leaves the text whole.
        let name: &[u8] = if case.contains("entry not UTF-8") {
            b"\xFF"
        } else {
            b"store"
        };
        self.model.poke(0, u64::from(entry.cast_unsigned()), name);
        self.model.poke(0, u64::from(ptx.0.cast_unsigned()), &bytes);
        Ok(())
    }

    fn prepare_launch(
        &mut self,
        row: &Row<'_>,
        args_ptr: i32,
        args_len: i32,
    ) -> Result<(), String> {
        if row.args.iter().any(Value::is_string) {
            self.load_at(KERNEL)?;
        }
        if args_len <= 0 || !self.is_inside((args_ptr, args_len)) {
            return Ok(());
        }
        let mut bytes = argv(row.case).ok_or_else(|| format!("the arguments of `{}`", row.case))?;
        let wanted = usize::try_from(args_len).map_err(|error| error.to_string())?;
        if bytes.len() != wanted {
            if !row.case.contains("bytes") {
                return Err(format!(
                    "{} bytes of arguments, not {args_len}",
                    bytes.len()
                ));
            }
            bytes.resize(wanted, 0);
        }
        self.model
            .poke(0, u64::from(args_ptr.cast_unsigned()), &bytes);
        Ok(())
    }

    fn prepare_message(&mut self, row: &Row<'_>, call: &Call) -> Result<(), String> {
        if row.case.starts_with("none") || row.case.contains("no error recorded") {
            return Ok(());
        }
        self.answer(&Call::alloc(0), -9)?;
        // The rows about copies are about a message of 23 bytes, or, with memories of other kinds, of 8.
        match (call, row.case.starts_with('[')) {
            (Call::LastErrorCopy { .. }, false) => self.answer(&Call::LastErrorLen, 23),
            (Call::LastErrorCopy { .. }, true) => self.answer(&Call::LastErrorLen, 8),
            _ => Ok(()),
        }
    }

    /// Allocations, which this implementation counts although it answers -1.
    fn allocate(&mut self, count: usize, bytes: u64) -> Result<(), String> {
        (0..count).try_for_each(|_| self.answer(&Call::alloc(bytes), -1))
    }

    fn load(&mut self, count: i64) -> Result<(), String> {
        (0..count).try_for_each(|id| self.load_at(id))
    }

    /// Loads a kernel with parameters, which no arguments of the data fit: as little as those of `vector_add`.
    fn load_at(&mut self, id: i64) -> Result<(), String> {
        let text = known()[1].text.as_bytes();
        let call = Call::LoadPtx {
            ptx_ptr: 0,
            ptx_len: i32::try_from(text.len()).map_err(|error| error.to_string())?,
            entry_ptr: 4096,
            entry_len: 5,
        };
        self.model.poke(0, 0, text);
        self.model.poke(0, 4096, b"store");
        self.answer(&call, id)
    }

    fn load_large(&mut self, count: i64) -> Result<(), String> {
        self.model.poke(0, 0, b"x.version .target");
        let call = Call::LoadPtx {
            ptx_ptr: 0,
            ptx_len: 8 << 20,
            entry_ptr: 9_000_000,
            entry_len: 5,
        };
        (0..count).try_for_each(|id| self.answer(&call, id))
    }

    fn answer(&mut self, call: &Call, result: i64) -> Result<(), String> {
        let applied = self.model.apply(0, call, result);
        applied.map_err(|deviation| format!("the state before: {deviation}"))
    }

    fn is_inside(&self, (at, len): (i32, i32)) -> bool {
        let end = u64::from(at.cast_unsigned()) + u64::from(len.cast_unsigned());
        len >= 0 && end <= self.model.memory_bytes(0)
    }
}

/// Kind and pages of a declaration.
fn memory(declaration: &str) -> Result<(MemoryKind, u64), String> {
    let Some(rest) = declaration.strip_prefix("(memory (export \"memory\") ") else {
        let known = ["", "(memory 1)", "(memory (export \"mem\") 1)"];
        if known.contains(&declaration) || declaration.starts_with("(global (export \"memory\")") {
            return Ok((MemoryKind::Absent, 1));
        }
        return Err(format!("the memory `{declaration}`"));
    };
    let words: Vec<&str> = rest.trim_end_matches(')').split(' ').collect();
    match words.as_slice() {
        ["i64", pages] => Ok((MemoryKind::Bits64, number(pages)?)),
        [pages, _, "shared"] => Ok((MemoryKind::Shared, number(pages)?)),
        [pages] | [pages, _] => Ok((MemoryKind::Ordinary, number(pages)?)),
        _ => Err(format!("the memory `{declaration}`")),
    }
}

/// The argument buffer that a case describes.
fn argv(case: &str) -> Option<Vec<u8>> {
    let outside = || record(0xFFFF_FFFF, 2);
    let i32_zero = [1, 0, 0, 0, 0];
    if let Some(rest) = case.strip_prefix("tag 0x") {
        let tag = u8::from_str_radix(rest.get(..2)?, 16).ok()?;
        let rest = rest.get(2..)?;
        let zeros = if let Some(count) = rest.strip_prefix(" + ") {
            if count == "1 trailing zero byte" {
                9
            } else {
                count.strip_suffix(" zero bytes")?.parse().ok()?
            }
        } else {
            let part = rest.strip_prefix(" truncated to ")?;
            part.split_once('/')?.0.parse().ok()?
        };
        return Some([vec![tag], vec![0; zeros]].concat());
    }
    if let Some(at) = case.find("ptr record offset 0x") {
        let rest = case.get(at + "ptr record offset 0x".len()..)?;
        let (offset, rest) = rest.split_once(" len 0x")?;
        let len = rest.split(' ').next()?;
        let hex = |text| u32::from_str_radix(text, 16).ok();
        return Some(record(hex(offset)?, hex(len)?));
    }
    match case {
        "8 records i32" => Some(i32_zero.repeat(8)),
        "129 records i32 (645 bytes)" => Some(i32_zero.repeat(129)),
        "129 records i64 (1161 bytes)" => Some([2, 0, 0, 0, 0, 0, 0, 0, 0].repeat(129)),
        "128 records + truncated 129th" => Some([i32_zero.repeat(128), vec![1]].concat()),
        "129 records, 128th has bad tag" => {
            let mut bytes = i32_zero.repeat(129);
            bytes[127 * 5] = 0;
            Some(bytes)
        }
        "4096 bytes of 0x00 (bad tag first)" => Some(vec![0; 4096]),
        "f32 signalling NaN / f64 NaN" => {
            let f32_nan = 0x7FA0_0000_u32.to_le_bytes();
            let f64_nan = 0x7FF8_0000_0000_0000_u64.to_le_bytes();
            Some([&[3][..], &f32_nan, &[4], &f64_nan].concat())
        }
        "two records: ptr OOB then bad tag" => Some([outside(), vec![0]].concat()),
        "two records: ptr OOB then truncated i64" => Some([outside(), vec![2, 0]].concat()),
        case if case.starts_with("4097 bytes starting") || case.ends_with("4097 bytes") => {
            Some(i32_zero.repeat(819))
        }
        case if case.ends_with("bad tag") => Some(vec![0]),
        case if case.ends_with("ptr OOB") => Some(outside()),
        case if case.contains("args ptr + len = memory size")
            || case.contains("args_ptr 0x80001000")
            || case.contains("args_len 5") =>
        {
            Some(i32_zero.into())
        }
        _ => None,
    }
}

fn record(at: u32, len: u32) -> Vec<u8> {
    [&[7][..], &at.to_le_bytes(), &len.to_le_bytes()].concat()
}

fn padded(text: &str, len: usize) -> String {
    let blanks = " ".repeat(len.saturating_sub(text.len()));
    format!("{text}{blanks}")
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("the number `{text}`"))
}

/// The id of a live kernel.
const KERNEL: i64 = 500_000;

/// How the cases start whose PTX is good.
const GOOD_PTX: [&str; 15] = [
    "valid vector_add",
    "ptx ptr",
    "ptx_len",
    "entry",
    "ptx and entry",
    "PREC",
    "256th kernel",
    "257th kernel",
    "64th x 8 MiB",
    "aggregate full",
    "[memory64] valid-looking",
    "[zero-page memory]",
    "[memory",
    "[shared memory]",
    "[export 'memory' is a global]",
];
