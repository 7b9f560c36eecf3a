//! `wasi_cuda_launch`

use super::{View, judge_device, judge_region};
use crate::model::allowed::{Allowed, Success};
use crate::model::argv::{Argv, Fault, MAX_BYTES, Record};
use crate::model::call::Call;
use crate::model::codes::Code;
use crate::model::instance::{Instance, Pending, Source};
use crate::model::kernel::{Faults, Known, Shape, known};
use crate::model::memory::Region;
use crate::model::rule::{self, Rule};
use crate::profile::Profile;

pub(super) fn allowed(view: &View<'_>, call: &Call) -> Allowed {
    let Some(launch) = Launch::of(call) else {
        return Allowed::success(Success::Zero, rule::LAUNCH_WINDOW_ACCESS, view.strict);
    };
    let mut allowed = Allowed::success(Success::Zero, launch.promise(), view.strict);
    let argv = judge_buffer(view, &launch, &mut allowed);
    judge_dimensions(view, &launch.shape, &mut allowed);
    let source = judge_kernel(view, launch.kernel_id, &mut allowed);
    let mut records = None;
    match &argv {
        Buffer::Unreadable => {}
        Buffer::Unknown => {
            for code in [
                Code::INVALID_ARGS,
                Code::INVALID_POINTER,
                Code::KERNEL_ARGS_UNSUPPORTED,
                Code::LAUNCH_FAILED,
            ] {
                allowed.may(code);
            }
        }
        Buffer::Read(argv) => {
            let structure = judge_records(view, argv, &mut allowed);
            if let Some(Source::Known(index, _)) = source
                && let Some(module) = known().get(index)
                && structure
            {
                if judge_params(argv, module, &mut allowed) {
                    records = Some((argv, module));
                } else if view.profile == Profile::NoDevice {
                    // Hole 10: without an assembler nobody knows the parameters, and there is no device either.
                    allowed.may(Code::NOT_AVAILABLE);
                }
            }
        }
    }
    match (records, source) {
        (Some((argv, module)), _) if allowed.can_succeed() && view.profile == Profile::Device => {
            judge_execution(module, argv, &launch.shape, &mut allowed);
        }
        (_, Some(Source::EntryMissing)) => {
            for code in [
                Code::INVALID_KERNEL,
                Code::LAUNCH_FAILED,
                Code::INTERNAL,
                Code::INVALID_ARGS,
                Code::MALFORMED_PTX,
            ] {
                allowed.may(code);
            }
            allowed.must_fail(rule::LOAD_ENTRY_MISSING);
            if view.profile == Profile::NoDevice {
                allowed.may(Code::NOT_AVAILABLE);
            }
        }
        // Its parameters are not known: any arguments may be wrong.
        (_, Some(Source::Unknown)) => {
            for code in [Code::LAUNCH_FAILED, Code::INTERNAL, Code::INVALID_ARGS] {
                allowed.may(code);
            }
        }
        _ => {}
    }
    if view.profile == Profile::NoDevice {
        judge_device(view, &mut allowed, rule::LAUNCH_REFUSED_IS_HARMLESS);
        if view.instance.kernels.len() == 0 {
            // A host that loads no kernels has none to look for.
            allowed.may(Code::NOT_AVAILABLE);
        }
    }
    if view.instance.fault != Faults::Never {
        // Erratum 28: a launch behind a fault that nothing has told of may fail with it. No other call but `sync` may.
        allowed.may(Code::LAUNCH_FAILED);
    }
    allowed
}

impl Shape {
    /// Whether an axis is longer than every device takes.
    fn leaves_device(&self) -> bool {
        let [_, grid_y, grid_z] = self.grid;
        let [_, _, block_z] = self.block;
        grid_y > DEVICE_GRID_YZ || grid_z > DEVICE_GRID_YZ || block_z > DEVICE_BLOCK_Z
    }
}

/// The launch was taken: memory gets its effects, in flight until the next sync.
pub(super) fn apply(instance: &mut Instance, call: &Call) {
    let Some(launch) = Launch::of(call) else {
        return;
    };
    let Some(argv) = launch.argv(instance) else {
        // Records that nobody knows: windows may be anywhere.
        instance.lost |= launch.args_len > 0;
        return;
    };
    let records = argv.records();
    let windows = hull(records);
    let known_module = match instance.kernels.get(launch.kernel_id).map(|it| it.source) {
        Some(Source::Known(index, ticks)) => {
            known().get(index).map(|module| (index, module, ticks))
        }
        _ => None,
    };
    let faults = match known_module {
        Some((_, module, _)) => module.faults(records, &launch.shape),
        None => Faults::Perhaps,
    };
    instance.fault = instance.fault.max(faults);
    if faults != Faults::Never {
        forget_variables(instance);
    }
    // Launches whose windows meet, with no sync in between: which goes first is open.
    let meets = windows.is_some_and(|(start, end)| {
        let mut meets = false;
        for pending in &mut instance.pending {
            if start < pending.windows.1 && pending.windows.0 < end {
                pending.disturbed = true;
                meets = true;
            }
        }
        meets
    });
    match known_module {
        Some((index, module, mut ticks)) if faults == Faults::Never => {
            let memory = &mut instance.memory.contents;
            if let (Some(wrote), Some(windows)) = (module.run(records, memory, &mut ticks), windows)
            {
                instance.counted = ticks.map(|_| wrote.0).filter(|_| module.counts());
                instance.pending.push(Pending {
                    windows,
                    wrote,
                    disturbed: meets,
                });
            }
            if let Some(kernel) = instance.kernels.get_mut(launch.kernel_id) {
                kernel.source = Source::Known(index, ticks);
            }
        }
        _ => spoil(instance, records),
    }
}

/// The launch was refused; a kernel that faulted may have run for a while.
pub(super) fn refused(instance: &mut Instance, call: &Call, code: Option<Code>) {
    if code != Some(Code::LAUNCH_FAILED) {
        return;
    }
    let Some(launch) = Launch::of(call) else {
        return;
    };
    instance.fault = if launch.fails_by_itself(instance) {
        instance.fault.min(Faults::Perhaps)
    } else {
        // Then it was the earlier fault, which is told once.
        Faults::Never
    };
    let Some(argv) = launch.argv(instance) else {
        instance.lost |= launch.args_len > 0;
        return;
    };
    let ran = match instance.kernels.get(launch.kernel_id).map(|it| it.source) {
        Some(Source::Known(index, _)) => known()
            .get(index)
            .is_some_and(|module| module.faults(argv.records(), &launch.shape) != Faults::Never),
        Some(_) => true,
        None => false,
    };
    if ran {
        spoil(instance, argv.records());
        forget_variables(instance);
    }
}

/// Erratum 35: a fault may have cost all modules of the instance what their variables held.
fn forget_variables(instance: &mut Instance) {
    for kernel in instance.kernels.values_mut() {
        if let Source::Known(_, ticks) = &mut kernel.source {
            *ticks = None;
        }
    }
}

/// What a kernel wrote is not known.
fn spoil(instance: &mut Instance, records: &[Record]) {
    for record in records {
        let Record::Window { at, len } = *record else {
            continue;
        };
        let (at, len) = (u64::from(at), u64::from(len));
        instance.disturb(at, len);
        if len > MOST_UNKNOWN_BYTES {
            instance.lost = true;
        } else {
            instance.memory.contents.forget(at, len);
        }
    }
}

struct Launch {
    kernel_id: i64,
    shape: Shape,
    args_ptr: i32,
    args_len: i32,
}

/// The argument buffer, as far as it can be read.
#[expect(
    clippy::large_enum_variant,
    reason = "it lives on the stack for one call"
)]
enum Buffer {
    /// Not inside memory, or longer than is read.
    Unreadable,
    /// Inside, with bytes that are not known.
    Unknown,
    Read(Argv),
}

impl Launch {
    fn of(call: &Call) -> Option<Launch> {
        match *call {
            Call::Launch {
                kernel_id,
                grid,
                block,
                shared_mem,
                args_ptr,
                args_len,
            } => Some(Launch {
                kernel_id,
                shape: Shape {
                    grid,
                    block,
                    shared_bytes: shared_mem,
                },
                args_ptr,
                args_len,
            }),
            _ => None,
        }
    }

    /// Whether `launch-failed` may be for this launch itself.
    fn fails_by_itself(&self, instance: &Instance) -> bool {
        if self.shape.leaves_device() {
            return true;
        }
        let Some(argv) = self.argv(instance) else {
            return true;
        };
        match instance.kernels.get(self.kernel_id).map(|it| it.source) {
            Some(Source::Known(index, _)) => known()
                .get(index)
                .is_none_or(|module| module.faults(argv.records(), &self.shape) != Faults::Never),
            Some(_) => true,
            None => false,
        }
    }

    fn promise(&self) -> &'static Rule {
        if self.args_len == 0 {
            rule::LAUNCH_ARGS_EMPTY
        } else if self.shape.shared_bytes > 0 {
            rule::LAUNCH_SHARED_MEMORY
        } else {
            rule::LAUNCH_WINDOW_ACCESS
        }
    }

    /// The records of a buffer that is inside and known.
    fn argv(&self, instance: &Instance) -> Option<Argv> {
        let mut buffer = [0; MAX_BYTES];
        let bytes = buffer.get_mut(..usize::try_from(self.args_len).ok()?)?;
        let at = u64::from(self.args_ptr.cast_unsigned());
        let known = !instance.lost
            && !instance.in_flight(at, bytes.len() as u64)
            && (bytes.is_empty() || instance.memory.contents.read(at, bytes));
        known.then(|| Argv::parse(bytes))
    }
}

fn judge_buffer(view: &View<'_>, launch: &Launch, allowed: &mut Allowed) -> Buffer {
    let len = launch.args_len.cast_unsigned();
    if len == 0 {
        if launch.args_ptr < 0 {
            // Hole 16: there is no region, and one host looks at the pointer all the same.
            allowed.may(Code::INVALID_POINTER);
        }
        return Buffer::Read(Argv::parse(&[]));
    }
    let region = view.instance.memory.region(launch.args_ptr, len);
    let inside = judge_region(allowed, region, rule::LAUNCH_ARGS_REGION);
    if launch.args_len < 0 {
        allowed.may(Code::INVALID_POINTER);
    }
    if !inside {
        return Buffer::Unreadable;
    }
    if len as usize > MAX_BYTES {
        allowed.fault(Code::KERNEL_ARGS_UNSUPPORTED, rule::ARGV_BYTES_CAP);
        return Buffer::Unreadable;
    }
    match launch.argv(view.instance) {
        Some(argv) => Buffer::Read(argv),
        None => Buffer::Unknown,
    }
}

fn judge_dimensions(view: &View<'_>, shape: &Shape, allowed: &mut Allowed) {
    let bad = Code::INVALID_DIMENSIONS;
    if shape.grid.iter().any(|axis| *axis < 1) {
        allowed.fault(bad, rule::LAUNCH_GRID_POSITIVE);
    }
    if shape.block.iter().any(|axis| *axis < 1) {
        allowed.fault(bad, rule::LAUNCH_BLOCK_POSITIVE);
    }
    if shape.block.iter().any(|axis| *axis > MAX_BLOCK_AXIS) {
        allowed.fault(bad, rule::LAUNCH_BLOCK_AXIS_CAP);
    } else {
        // An axis below 1 is a fault of its own and makes no number of threads.
        let axes = shape.block.iter().map(|axis| i64::from(*axis).max(0));
        if axes.product::<i64>() > MAX_THREADS {
            allowed.fault(bad, rule::LAUNCH_BLOCK_THREADS_CAP);
        }
    }
    if !(0..=MAX_SHARED_BYTES).contains(&shape.shared_bytes) {
        allowed.fault(bad, rule::LAUNCH_SHARED_MEMORY_CAP);
        if !view.strict {
            allowed.may(Code::LAUNCH_FAILED);
            allowed.may(Code::INVALID_ARGS);
        }
    }
    if shape.leaves_device() {
        // Without a device there are no limits of one: then the launch is refused for that, at the latest.
        if view.profile == Profile::Device {
            allowed.fault(bad, rule::LAUNCH_DEVICE_LIMITS);
        } else {
            allowed.may(bad);
        }
        allowed.may(Code::LAUNCH_FAILED);
    }
}

fn judge_kernel(view: &View<'_>, kernel_id: i64, allowed: &mut Allowed) -> Option<Source> {
    let source = view.instance.kernels.get(kernel_id).map(|it| it.source);
    if source.is_none() {
        let mut others = view.model.instances.iter().flatten();
        let foreign = others.any(|other| other.kernels.get(kernel_id).is_some());
        let rule = if foreign {
            rule::LAUNCH_FOREIGN
        } else {
            rule::LAUNCH_KERNEL_ID
        };
        allowed.fault(Code::INVALID_KERNEL, rule);
    }
    source
}

/// Judges the records in their order; false when there is no whole list of them.
fn judge_records(view: &View<'_>, argv: &Argv, allowed: &mut Allowed) -> bool {
    for record in argv.records() {
        let Record::Window { at, len } = *record else {
            continue;
        };
        match view.instance.memory.region(at.cast_signed(), len) {
            Region::Inside => {}
            Region::Either => {
                allowed.may(Code::INVALID_POINTER);
                if at.checked_add(len).is_none() {
                    allowed.rules.add(rule::MEMORY_END_AT_4GIB);
                }
            }
            Region::Outside(_) => {
                let rule = if len == 0 {
                    rule::ARGV_WINDOW_EMPTY
                } else {
                    rule::ARGV_WINDOW
                };
                allowed.fault(Code::INVALID_POINTER, rule);
                // What comes after the first fault is not met; that the list does not fit is a fault of its own.
                return argv.fault.is_none();
            }
        }
    }
    match argv.fault {
        None => true,
        Some(Fault::Tag) => {
            allowed.fault(Code::INVALID_ARGS, rule::ARGV_TAGS);
            false
        }
        Some(Fault::Truncated) => {
            allowed.fault(Code::INVALID_ARGS, rule::ARGV_TRUNCATED);
            false
        }
        Some(Fault::TooMany) => {
            allowed.fault(Code::KERNEL_ARGS_UNSUPPORTED, rule::ARGV_RECORDS_CAP);
            false
        }
    }
}

/// Compares records with parameters.
fn judge_params(argv: &Argv, module: &Known, allowed: &mut Allowed) -> bool {
    let records = argv.records();
    let mut fits = true;
    let mut fault = |allowed: &mut Allowed, rule| {
        allowed.fault(Code::INVALID_ARGS, rule);
        fits = false;
    };
    if records.len() < module.params.len() {
        fault(allowed, rule::LAUNCH_PARAMS_MISSING);
    }
    if records.len() > module.params.len() {
        fault(allowed, rule::LAUNCH_PARAMS_MORE);
    }
    for (record, param) in records.iter().zip(&module.params) {
        if record.width_bytes() < param.width_bytes() {
            fault(allowed, rule::LAUNCH_PARAMS_NARROWER);
        } else if record.width_bytes() > param.width_bytes() {
            fault(allowed, rule::LAUNCH_PARAMS_WIDER);
        }
    }
    fits
}

/// What becomes of a launch with nothing wrong in its arguments.
fn judge_execution(module: &Known, argv: &Argv, shape: &Shape, allowed: &mut Allowed) {
    match module.faults(argv.records(), shape) {
        Faults::Never => {}
        Faults::Perhaps => allowed.may(Code::LAUNCH_FAILED),
        Faults::Surely => {
            // 0 is allowed: then the next sync tells.
            allowed.may(Code::LAUNCH_FAILED);
            allowed.rules = if module.entry == "spin" {
                rule::Rules::one(rule::LAUNCH_FAULT_WATCHDOG)
            } else {
                rule::Rules::one(rule::LAUNCH_FAULT_REPORTED)
            };
        }
    }
}

/// From the first to the last byte of all windows.
fn hull(records: &[Record]) -> Option<(u64, u64)> {
    records
        .iter()
        .filter_map(|record| match *record {
            Record::Window { at, len } if len > 0 => {
                Some((u64::from(at), u64::from(at) + u64::from(len)))
            }
            _ => None,
        })
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// A larger window of which nothing is known is not worth keeping count of.
const MOST_UNKNOWN_BYTES: u64 = 16 << 20;

/// Longest block axis.
const MAX_BLOCK_AXIS: i32 = 1024;

/// Most threads of a block.
const MAX_THREADS: i64 = 1024;

/// Most dynamic shared memory.
const MAX_SHARED_BYTES: i32 = 228 << 10;

/// Longest y and z axis of a grid that any device takes.
const DEVICE_GRID_YZ: i32 = 65535;

/// Longest z axis of a block that any device takes.
const DEVICE_BLOCK_Z: i32 = 64;
