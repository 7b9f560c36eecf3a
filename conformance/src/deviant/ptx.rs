//! Loads of other PTX than the guest passed.

use wasi_cuda_host::abi::Import;

use super::call::Call;

impl Call<'_> {
    /// The text and the entry name that a load was given, where both lie in the memory.
    pub(super) fn ptx(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let text = self.bytes("ptx_ptr", "ptx_len")?.to_vec();
        let entry = self.bytes("entry_ptr", "entry_len")?.to_vec();
        Some((text, entry))
    }

    /// Loads this text.
    pub(super) fn load(&mut self, text: &[u8], entry: &[u8]) -> i64 {
        let mut memory = text.to_vec();
        memory.extend_from_slice(entry);
        let (text_len, entry_len) = (len_of(text), len_of(entry));
        self.also(
            Import::LoadPtx,
            Some(&mut memory),
            &[0, text_len, text_len, entry_len],
        )
    }

    /// Loads what `rewrite` makes of the text; passes the call on where the text is none.
    pub(super) fn load_rewritten(&mut self, rewrite: impl FnOnce(&str) -> String) -> i64 {
        match self.ptx() {
            Some((text, entry)) => match str::from_utf8(&text) {
                Ok(text) => self.load(rewrite(text).as_bytes(), &entry),
                Err(_) => self.pass(),
            },
            None => self.pass(),
        }
    }

    /// The same, with the text as it was where the other is refused: a mistake in running kernels refuses none.
    pub(super) fn load_altered(&mut self, rewrite: impl FnOnce(&str) -> String) -> i64 {
        let Some((text, entry)) = self.ptx() else {
            return self.pass();
        };
        match str::from_utf8(&text).map(rewrite) {
            Ok(other) if other.as_bytes() != text => match self.load(other.as_bytes(), &entry) {
                id if id >= 0 => id,
                _ => self.pass(),
            },
            _ => self.pass(),
        }
    }

    /// Passes a load on and tries again with another text where it is refused.
    pub(super) fn load_leniently(&mut self, rewrite: impl FnOnce(&str) -> String) -> i64 {
        match self.pass() {
            refused if refused < 0 => match self.load_rewritten(rewrite) {
                id if id >= 0 => id,
                _ => refused,
            },
            id => id,
        }
    }
}

/// The names of the kernels in a text.
pub(super) fn entries(text: &str) -> Vec<String> {
    text.split(".entry ")
        .skip(1)
        .map(|rest| {
            rest.trim_start()
                .chars()
                .take_while(|letter| letter.is_ascii_alphanumeric() || "_$%".contains(*letter))
                .collect()
        })
        .collect()
}

/// The smallest kernel: no parameters, and it does nothing.
pub(super) const SMALLEST: &[u8] =
    b".version 7.0 .target sm_75 .address_size 64 .visible .entry k() { ret; }";

fn len_of(bytes: &[u8]) -> i64 {
    i64::try_from(bytes.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_by_name() {
        let text = ".visible .entry a(.param .u64 p) { ret; }\n.entry  $b_1 () { ret; }\n.func c() { ret; }";
        assert_eq!(entries(text), ["a", "$b_1"]);
        assert_eq!(entries(str::from_utf8(SMALLEST).expect("text")), ["k"]);
        assert!(entries("").is_empty());
    }
}
