//! What kernels print.

/// The text that kernels have printed, up to a limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
}

/// Most bytes that are kept; what goes beyond is dropped, as on a device whose buffer is full.
pub(crate) const MAX_OUTPUT_BYTES: usize = 1 << 20;

impl Output {
    pub(crate) fn write(&mut self, text: &[u8]) {
        let room = MAX_OUTPUT_BYTES.saturating_sub(self.bytes.len());
        let text = text.get(..room).unwrap_or(text);
        self.bytes.extend_from_slice(text);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}
