//! Functions that the CUDA runtime supplies on a device: `vprintf`, `malloc`, `free` and `__assertfail`.

use super::access::View;
use super::block::Block;
use super::printf::{self, Guest};
use super::{LaneFault, bits_of};
use crate::code::{Runtime, Space};
use crate::exec::local::Local;
use crate::fault::FaultKind;
use crate::heap::BadFree;
use crate::memory::resolve;

/// Units that a call costs beside what it prints.
const CALL_COST: u64 = 16;

/// Units that a decimal of a floating-point number costs, which may need exact arithmetic of a thousand digits.
const DECIMAL_COST: u64 = 3;

/// Bytes of the heap that a unit clears: `malloc` of much memory takes long.
const CLEARED_BYTES: u64 = 128;

/// Longest text of a failed assertion, each of its parts.
const MAX_ASSERT_BYTES: usize = 1024;

impl<'g, 'm> Block<'g, 'm> {
    /// One call in the lanes of `active`, lowest first; parameters and results lie in the frame at `frame`, at multiples of 16.
    #[cold]
    pub(super) fn runtime(
        &mut self,
        function: Runtime,
        local: &mut Local,
        frame: u32,
        active: u32,
    ) -> Result<(), LaneFault> {
        for lane in bits_of(active) {
            let argument = |local: &Local, at: u32| {
                local
                    .read(lane, u64::from(frame + 16 * at), 8)
                    .unwrap_or_default()
            };
            let mut cost = CALL_COST;
            match function {
                Runtime::Printf => {
                    let (format, arguments) = (argument(local, 0), argument(local, 1));
                    let mut guest = self.guest(local, frame, lane);
                    let printed = printf::printf(&mut guest, format, arguments)?;
                    cost += (printed.text.len() + printed.bytes_read) as u64 / 4;
                    cost += DECIMAL_COST * printed.decimals as u64;
                    self.spaces.output.write(&printed.text);
                    local.write(lane, u64::from(frame + 32), 4, u64::from(printed.arguments));
                }
                Runtime::Malloc => {
                    let limit = u64::from(self.grid.config.heap_bytes);
                    let bytes = argument(local, 0);
                    let address = self.spaces.heap.malloc(bytes, limit);
                    if address != 0 {
                        cost += bytes / CLEARED_BYTES;
                    }
                    local.write(lane, u64::from(frame + 16), 8, address);
                }
                Runtime::Free => {
                    let address = argument(local, 0);
                    self.spaces.heap.free(address).map_err(|error| LaneFault {
                        kind: FaultKind::BadFree {
                            address,
                            again: error == BadFree::Again,
                        },
                        lane: lane as u32,
                    })?;
                }
                Runtime::Assert => {
                    let [message, file, line, function] =
                        [0, 1, 2, 3].map(|at| argument(local, at));
                    let mut guest = self.guest(local, frame, lane);
                    let mut text = |address| -> Result<String, LaneFault> {
                        if address == 0 {
                            return Ok(String::new());
                        }
                        let bytes = printf::string_of(&mut guest, address, MAX_ASSERT_BYTES)?;
                        Ok(String::from_utf8_lossy(&bytes).into_owned())
                    };
                    let kind = FaultKind::Assert {
                        message: text(message)?,
                        file: text(file)?,
                        line: line as u32,
                        function: text(function)?,
                    };
                    return Err(LaneFault {
                        kind,
                        lane: lane as u32,
                    });
                }
            }
            if !self.grid.budget.charge(cost) {
                let kind = FaultKind::BudgetExhausted(self.grid.budget.total);
                return Err(LaneFault {
                    kind,
                    lane: lane as u32,
                });
            }
        }
        Ok(())
    }

    fn guest<'v>(
        &'v mut self,
        local: &'v mut Local,
        frame: u32,
        lane: usize,
    ) -> LaneMemory<'v, 'g, 'm> {
        LaneMemory {
            view: View {
                spaces: &mut self.spaces,
                local,
                frame,
            },
            lane,
        }
    }
}

/// Memory as one lane reads it, by generic address.
struct LaneMemory<'v, 'l, 'm> {
    view: View<'v, 'l, 'm>,
    lane: usize,
}

impl Guest for LaneMemory<'_, '_, '_> {
    type Error = LaneFault;

    fn read(&mut self, address: u64, bytes: u32) -> Result<u64, LaneFault> {
        let lane = self.lane as u32;
        let place = resolve(address);
        if place.space == Space::Local {
            self.view
                .aligned(Space::Generic, address, bytes, false, lane)?;
            return self
                .view
                .local
                .read(self.lane, place.address, bytes)
                .ok_or_else(|| {
                    super::access::out_of_bounds(Space::Generic, address, bytes, false, lane)
                });
        }
        let found = self
            .view
            .checked(Space::Generic, address, bytes, false, lane)?;
        let mut word = [0; 8];
        word[..found.len()].copy_from_slice(found);
        Ok(u64::from_le_bytes(word))
    }
}
