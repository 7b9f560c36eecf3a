//! The same binding with a witness: every call is reported with its arguments, its result and its time.

use std::fmt;
use std::time::{Duration, Instant};

use ::wasmtime::{Caller, FuncType, Linker, Result, Val, ValType};

use super::{GuestState, check_memory, guest};
use crate::abi::{AbiError, Import, MODULE, Value, ValueType};
use crate::calls;

/// One call that a guest made.
#[derive(Clone, Copy, Debug)]
pub struct TracedCall<'a> {
    /// The import.
    pub import: Import,
    /// What the guest passed.
    pub args: &'a [Value],
    /// What the guest got.
    pub result: Value,
    /// How long the host took.
    pub elapsed: Duration,
}

/// `name(argument, …) = result (error name) N µs`, pointers and lengths unsigned, the rest as passed.
impl fmt::Display for TracedCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.import.name())?;
        for (position, (arg, (name, _))) in self.args.iter().zip(self.import.params()).enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            match arg {
                Value::I32(value) if name.ends_with("_ptr") => {
                    write!(f, "{separator}{name}={}", value.cast_unsigned())?;
                }
                _ => write!(f, "{separator}{name}={}", arg.as_i64())?,
            }
        }
        write!(f, ") = {}", self.result.as_i64())?;
        if let Some(error) = AbiError::from_code(self.result.as_i64()) {
            write!(f, " ({})", error.name())?;
        }
        write!(f, " {:.1} µs", self.elapsed.as_secs_f64() * 1e6)
    }
}

/// As [`add_to_linker`](super::add_to_linker), and tells `witness` of every call after it was made.
///
/// # Errors
///
/// One of the names is defined already.
pub fn add_to_linker_traced<T: 'static>(
    linker: &mut Linker<T>,
    state: impl Fn(&mut T) -> &mut GuestState + Send + Sync + Copy + 'static,
    witness: impl Fn(&TracedCall<'_>) + Send + Sync + Clone + 'static,
) -> Result<()> {
    for import in Import::ALL.iter().copied() {
        let params = import.params().iter().map(|(_, ty)| wasm_type(*ty));
        let ty = FuncType::new(linker.engine(), params, [wasm_type(import.result())]);
        let witness = witness.clone();
        linker.func_new(
            MODULE,
            import.name(),
            ty,
            move |mut caller: Caller<'_, T>, params, results| {
                let args: Vec<Value> = params.iter().filter_map(abi_value).collect();
                check_memory(&mut caller, state);
                let (instance, memory) = guest(&mut caller, state);
                let start = Instant::now();
                let result = calls::call(import, instance, memory, &args);
                let elapsed = start.elapsed();
                // Wasmtime has checked the types against the table already; anything else would be a bug here.
                let (Some(result), [slot]) = (result, results) else {
                    return Err(::wasmtime::Error::msg(
                        "a call does not have the types of its table entry",
                    ));
                };
                *slot = wasm_value(result);
                witness(&TracedCall {
                    import,
                    args: &args,
                    result,
                    elapsed,
                });
                Ok(())
            },
        )?;
    }
    Ok(())
}

fn wasm_type(ty: ValueType) -> ValType {
    match ty {
        ValueType::I32 => ValType::I32,
        ValueType::I64 => ValType::I64,
    }
}

fn wasm_value(value: Value) -> Val {
    match value {
        Value::I32(value) => Val::I32(value),
        Value::I64(value) => Val::I64(value),
    }
}

fn abi_value(value: &Val) -> Option<Value> {
    match value {
        Val::I32(value) => Some(Value::I32(*value)),
        Val::I64(value) => Some(Value::I64(*value)),
        _ => None,
    }
}
