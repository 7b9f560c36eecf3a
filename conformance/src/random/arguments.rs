//! How a call goes through the driver guest.

use super::trace::Argument;
use crate::model::Call;
use crate::model::operation::Id;
use crate::runtime::Value;

/// The driver's export for a call, and its arguments.
pub(super) fn export(call: &Call, id: Option<Id>) -> (&'static str, Vec<Value>) {
    let args = arguments(call, id)
        .into_iter()
        .map(|argument| match argument {
            Argument::Value(value) => value,
            Argument::Id(id) => Value::I64(id),
        })
        .collect();
    (call.import().name(), args)
}

/// The arguments, with ids told apart.
pub(super) fn arguments(call: &Call, id: Option<Id>) -> Vec<Argument> {
    let int = |number: i32| Argument::Value(Value::I32(number));
    let id = |number: i64| {
        let id = id.unwrap_or(Id {
            base: number,
            flip: 0,
        });
        [Argument::Id(id.base), Argument::Value(Value::I64(id.flip))]
    };
    let handle = |low: i32, high: i32| id(i64::from(high) << 32 | i64::from(low.cast_unsigned()));
    match *call {
        Call::Sync | Call::LastErrorLen => Vec::new(),
        Call::LoadPtx {
            ptx_ptr,
            ptx_len,
            entry_ptr,
            entry_len,
        } => [ptx_ptr, ptx_len, entry_ptr, entry_len].map(int).into(),
        Call::Launch {
            kernel_id,
            grid,
            block,
            shared_mem,
            args_ptr,
            args_len,
        } => {
            let mut list = Vec::from(id(kernel_id));
            list.extend(grid.into_iter().chain(block).map(int));
            list.extend([shared_mem, args_ptr, args_len].map(int));
            list
        }
        Call::LastErrorCopy { dst_ptr, dst_len } => [dst_ptr, dst_len].map(int).into(),
        Call::Alloc { size_lo, size_hi } => [size_lo, size_hi].map(int).into(),
        Call::Free {
            handle_lo,
            handle_hi,
        } => handle(handle_lo, handle_hi).into(),
        Call::MemcpyH2d {
            handle_lo,
            handle_hi,
            src_ptr,
            len,
        } => {
            let mut list = Vec::from(handle(handle_lo, handle_hi));
            list.extend([src_ptr, len].map(int));
            list
        }
        Call::MemcpyD2h {
            dst_ptr,
            handle_lo,
            handle_hi,
            len,
        } => {
            let mut list = vec![int(dst_ptr)];
            list.extend(handle(handle_lo, handle_hi));
            list.push(int(len));
            list
        }
    }
}
